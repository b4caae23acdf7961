"""Runs the random mutants: each against tests of its module and fingerprints, then all of engine and model.

``python -m tests.mutation`` runs those drawn mutants that have no result yet and stores each result at once, so that it may be
stopped and started again. ``--again`` also repeats those that survived, after tests have been added.
"""

from __future__ import annotations

import argparse
import json
import queue
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import date
from pathlib import Path

from tests.mutation.mutants import DRAWN, Mutant, candidates, drawn, equivalents, planted
from tests.mutation.planted_copy import ROOT, PlantedCopy

RESULTS = Path(__file__).parent / "results.jsonl"
LEAST_KILLED = 0.9
FINGERPRINTS = "tests/test_fingerprint.py::test_a_small_host_does_what_it_did"
ALL = ["tests/policy", "tests/engine", "tests/model", "tests/theory/test_seeded_faults.py", "tests/verification"]
CPU_S = {"near": 100, "all": 400}
"""Seconds of CPU time, several times the tests' normal time: a slower mutant counts as endless."""


def near_tests(path: str) -> list[str]:
    """Return the test files named after a module, then fingerprints, then other test files that import it."""
    stem, module = Path(path).stem, path.removesuffix(".py").replace("/", ".")
    files = sorted(file for folder in ALL for file in _test_files(ROOT / folder))
    named = [file for file in files if stem in file.stem]
    importing = [file for file in files if module in file.read_text(encoding="utf-8") and file not in named]
    first, last = ([file.relative_to(ROOT).as_posix() for file in part] for part in (named, importing))
    return [*first, FINGERPRINTS, *last]


def _test_files(place: Path) -> list[Path]:
    return [place] if place.is_file() else list(place.rglob("test_*.py"))


def run(mutant: Mutant, copy: PlantedCopy, *, quick: bool) -> dict[str, str]:
    """Return the outcome of one mutant: killed, with the killing test; timed out; or survived."""
    tiers = [("near", near_tests(mutant.path))] + ([] if quick else [("all", ALL)])
    text = (copy.folder / mutant.path).read_text(encoding="utf-8")
    outcome, killer = "survived", ""
    with copy.planted(mutant.path, planted(mutant, text)):
        for tier, tests in tiers:
            found = copy.run(tests, cpu_s=CPU_S[tier])
            if found.is_timeout:
                outcome, killer = "timed out", tier
            elif found.failures or found.errors:
                outcome, killer = "killed", next(iter({**found.failures, **found.errors}))
            if outcome != "survived":
                break
    killer = killer or "all tests" * (not quick)
    return {"key": mutant.key, "outcome": outcome, "by": killer, "date": date.today().isoformat()}


def stored() -> dict[str, dict[str, str]]:
    """Return the stored results by mutant key; the last one of several."""
    if not RESULTS.exists():
        return {}
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return {result["key"]: result for result in map(json.loads, lines)}


def main() -> int:
    """Run missing mutants, tidy the stored results, and return 1 if too few are killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--count", type=int, default=DRAWN)
    parser.add_argument("--again", action="store_true", help="repeat those that survived")
    parser.add_argument("--quick", action="store_true", help="without all tests of engine and model")
    options = parser.parse_args()
    stale = set(equivalents()) - {mutant.key for mutant in candidates(ROOT)}
    for key in sorted(stale):
        print(f"listed as equivalent, and no candidate any more: {key}")
    mutants = drawn(ROOT, options.count)
    known = stored()
    again = {key for key, result in known.items() if options.again and result["outcome"] == "survived"}
    missing = [mutant for mutant in mutants if mutant.key not in known or mutant.key in again]
    copies: queue.Queue[PlantedCopy] = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for number in range(min(options.jobs, len(missing))):
            place = Path(folder) / str(number)
            place.mkdir()
            copies.put(PlantedCopy(place))

        def task(mutant: Mutant) -> dict[str, str]:
            copy = copies.get()
            try:
                return run(mutant, copy, quick=options.quick)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.jobs) as pool:
            for done in as_completed([pool.submit(task, mutant) for mutant in missing]):
                result = done.result()
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")
                print(f"{result['outcome']:9} {result['key']}  {result['by']}", flush=True)
        while not copies.empty():
            copies.get().close()
    return summary(mutants, stale)


def summary(mutants: list[Mutant], stale: set[str]) -> int:
    """Keep the results of drawn mutants only, in order, and print the figures."""
    known = stored()
    results = [known[mutant.key] for mutant in mutants if mutant.key in known]
    RESULTS.write_text("".join(json.dumps(result) + "\n" for result in results), encoding="utf-8")
    survivors = [result for result in results if result["outcome"] == "survived"]
    killed = len(results) - len(survivors)
    print(f"{len(results)} of {len(mutants)} run: {killed} killed, {len(survivors)} survived:")
    for result in survivors:
        print(f"  {result['key']}")
    return 1 if stale or len(results) < len(mutants) or killed < LEAST_KILLED * len(mutants) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Page of the verification: every oracle, simulated and from theory.

``python -m hostsim_docs.verification_page FILE`` runs all oracles and writes it, as `make verification-page` does for the documentation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from hostsim.config.files import write_whole
from hostsim.lab.verification.oracle import OracleOutcome, OracleResult
from hostsim.lab.verification.runner import FULL, QUICK, all_passed, oracles, rows, verify
from hostsim_docs.markdown import row

__all__ = ["page"]

_HEADINGS = ("case", "quantity", "theory", "simulated", "99.9 % interval", "half-width", "allowed", "verdict")


def page(results: Sequence[OracleResult], *, seed: int, quick: bool) -> str:
    """The page as Markdown: the introduction beside this module, and a table for each group of oracles.

    Args:
        results: of one run.
        seed: of that run.
        quick: whether it was a short one.
    """
    introduction = Path(__file__).with_name("verification.md").read_text(encoding="utf-8").rstrip()
    count = {outcome: sum(result.outcome is outcome for result in results) for outcome in OracleOutcome}
    options = f"{' --quick' if quick else ''}{f' --seed {seed}' if seed != 1 else ''}"
    lines = [
        introduction,
        "",
        (
            f"Written by `python -m hostsim_docs.verification_page{options}`: {len({result.oracle.name for result in results})} cases of {results[0].interval.count} replications each, "
            f"{len(results)} quantities: {count[OracleOutcome.PASS]} passed, {count[OracleOutcome.FAIL]} failed, "
            f"{count[OracleOutcome.ERROR]} too wide to say."
        ),
    ]
    for group, members in groupby(results, key=lambda result: result.oracle.group):
        lines += ["", f"## {group}", "", row(_HEADINGS)]
        lines += ["| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"]
        for result in members:
            [(name, *numbers, half, outcome)] = rows([result])
            allowed = f"{100 * result.most_half:g} %"
            case = name if result.oracle.parameters in name else f"{name}: {result.oracle.parameters}"
            lines.append(row([case, *numbers, half, allowed, outcome]))
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run all oracles and write the page; returns 1 unless all passed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results = verify(oracles(), seed=options.seed, effort=QUICK if options.quick else FULL)
    write_whole(options.file, page(results, seed=options.seed, quick=options.quick).encode())
    return 0 if all_passed(results) else 1


if __name__ == "__main__":
    sys.exit(main())

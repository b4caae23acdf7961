"""Verdicts on every claim, stored as ``docs/claims.json`` so that pages and the README need no runs.

``python -m hostsim_docs.claim_values FILE`` judges all claims and writes it, as `make claims` does.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hostsim import api
from hostsim.config.files import write_whole
from hostsim.results.estimate import Interval
from hostsim.results.expect import At, Expectation, Verdict, VerdictState
from hostsim.results.judge import state_of
from hostsim.results.search_answer import Bound
from hostsim.results.verdicts import as_json, is_accepted, known_text, label, outcome
from hostsim.scenario.shipped_data import claims, known_red

__all__ = ["FILE", "KEPT", "disagreements", "main", "read", "text", "verdicts"]

FILE = Path(__file__).parents[2] / "claims.json"
KEPT = ("claim", "value", "bound", "ci_low", "ci_high", "deterministic", "verdict", "outcome", "known")
"""Fields of a verdict that are stored, as `hostsim check --json` names them."""


def read(file: Path = FILE) -> dict[str, Any]:
    """The stored file: ``fidelity``, ``seed``, and ``verdicts`` by claim."""
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return kept | {"verdicts": {verdict["claim"]: verdict for verdict in kept["verdicts"]}}


def verdicts(kept: Mapping[str, Any]) -> dict[str, Verdict]:
    """The stored verdicts by claim, with bands from ``claims.csv`` and ranges from ``known_red.yaml``."""
    red = known_red()
    return {
        claim.id: Verdict(
            Expectation(claim.id, At("", {}), claim.band, claim.unit, claim.published, is_claim=True, kind=claim.kind),
            scenario="",
            value=found["value"],
            ci_low=found["ci_low"],
            ci_high=found["ci_high"],
            state=VerdictState.OPEN if found["verdict"] == "pass?" else VerdictState(found["verdict"]),
            known=red.get(claim.id),
            bound=found["bound"] and Bound(found["bound"]),
            equal_replications=int(found["deterministic"]),
        )
        for claim in claims().values()
        if (found := kept["verdicts"].get(claim.id)) is not None
    }


def disagreements(kept: Mapping[str, Any]) -> list[str]:
    """Disagreements of stored verdicts with ``claims.csv`` and ``known_red.yaml``: missing verdicts, different bands,
    different known reds. Nothing is simulated.
    """
    quick = kept["fidelity"] == "quick"
    found = [f"{claim}: has no stored verdict" for claim in claims() if claim not in kept["verdicts"]]
    found += [f"{claim}: is not a claim" for claim in kept["verdicts"] if claim not in claims()]
    for claim, verdict in verdicts(kept).items():
        stored = kept["verdicts"][claim]
        if verdict.value is not None:
            low = -math.inf if verdict.ci_low is None else verdict.ci_low
            high = math.inf if verdict.ci_high is None else verdict.ci_high
            judged = state_of(Interval(verdict.value, low, high, 1), verdict.expectation.band, verdict.bound)
            word = label(replace(verdict, state=judged), quick=quick)
            if word != stored["verdict"]:
                found.append(f"{claim}: is stored as {stored['verdict']}, and its band in claims.csv makes it {word}")
        if (counted := outcome(verdict, quick=quick)) != stored["outcome"]:
            found.append(f"{claim}: is stored as {stored['outcome']}, and with known_red.yaml it is {counted}")
        if verdict.known and not is_accepted(verdict, quick=quick):
            found.append(f"{claim}: {known_text(verdict)}")
    return found


def text(verdicts: Iterable[Mapping[str, object]], *, quick: bool, seed: int) -> str:
    """Text of the file: the verdicts on published claims, as `hostsim check --json` prints them."""
    kept = [{name: verdict[name] for name in KEPT} for verdict in verdicts if verdict["kind"]]
    whole = {"fidelity": "quick" if quick else "full", "seed": seed, "verdicts": kept}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Judge all claims, or the named ones, and write their verdicts; stored verdicts of other claims are kept."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("claims", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--results", default="results")
    given = parser.parse_intermixed_args()
    found = as_json(api.check(*given.claims, quick=given.quick, results=given.results), quick=given.quick)
    judged = {verdict["claim"] for verdict in found}
    if given.claims:
        stored = read(given.file)["verdicts"].values()
        found += [verdict | {"kind": True} for verdict in stored if verdict["claim"] not in judged]
    places = {claim: place for place, claim in enumerate(claims())}
    found.sort(key=lambda verdict: places.get(str(verdict["claim"]), len(places)))
    print(write_whole(given.file, text(found, quick=given.quick, seed=1).encode()))


if __name__ == "__main__":
    main()

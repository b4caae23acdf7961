"""Values of the claims page: the verdict on every claim, kept as ``docs/claims.json`` so that the page needs no runs.

``python -m hostsim_docs.claim_values FILE`` judges all claims and writes it, as `make claims` does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hostsim import api
from hostsim.files import write_whole
from hostsim.results.scoreboard import as_json

__all__ = ["FILE", "KEPT", "main", "read", "text"]

FILE = Path(__file__).parents[2] / "claims.json"
KEPT = ("claim", "value", "bound", "ci_low", "ci_high", "deterministic", "verdict", "known")
"""Fields of a verdict that the page shows, as `hostsim check --json` names them."""


def read(file: Path = FILE) -> dict[str, Any]:
    """The kept verdicts: ``fidelity``, ``seed``, and under ``verdicts`` those by claim."""
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return kept | {"verdicts": {verdict["claim"]: verdict for verdict in kept["verdicts"]}}


def text(verdicts: Iterable[Mapping[str, object]], *, quick: bool, seed: int) -> str:
    """Verdicts, as `hostsim check --json` prints them, as the text of the file; those of published claims alone."""
    kept = [{name: verdict[name] for name in KEPT} for verdict in verdicts if verdict["kind"]]
    whole = {"fidelity": "quick" if quick else "full", "seed": seed, "verdicts": kept}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Judge all claims and write their verdicts."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--results", default="results")
    given = parser.parse_args()
    found = api.check(quick=given.quick, results=given.results)
    write_whole(given.file, text(as_json(found, quick=given.quick), quick=given.quick, seed=1).encode())


if __name__ == "__main__":
    main()

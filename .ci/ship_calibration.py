"""Ship a calibration: the best fit as the constants of the shipped files, its ensemble, and its results.

``python .ci/ship_calibration.py FOLDER`` reads the folder that ``hostsim calibrate -o FOLDER`` wrote. A number that the
fit moved by less than `LEAST_MOVED` standard deviations of its prior gets its stated value; any other gets the fitted
value, with the stated value as its prior.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hostsim.campaign.ensemble import read_ensemble, write_ensemble
from hostsim.lab.calibration.shipped_claims import LEAST_MOVED, draw_from_priors
from hostsim.scenario.cost_model import PARTS, Constant, scenario_inputs, shipped_constants
from hostsim.scenario.load import load
from hostsim.scenario.selection import select
from hostsim.scenario.shipped_data import data_root, predictions, shipped, shipped_ensemble, shipped_parts

DIGITS = 3
ABOUT = (
    "Ensemble of hosts: a row a member, a column a constant or an input, in their units.",
    "Drawn about the best fit to the published claims (docs/calibration.md). A number that is behind no claim, but behind a prediction, is",
    "drawn from its prior.",
)


@dataclass(frozen=True)
class Edit:
    """A number of a file, and the median of its prior if that differs."""

    file: Path
    path: tuple[Any, ...]
    number: str
    value: str
    """Empty if the file already has this value."""
    prior: str | None


def main(folder: Path) -> None:
    """Write all shipped files of a calibration.

    Args:
        folder: folder of the calibration.
    """
    target = data_root() / "calibration"
    shutil.copy(folder / "fit.json", target / "fit.json")
    drawn_about = read_ensemble(folder / "ensemble.csv").members
    drawn = draw_from_priors(select(among={**shipped(), **predictions()}), len(drawn_about))
    write_ensemble(
        shipped_ensemble(), {place: drawn[place] | dict(values) for place, values in enumerate(drawn_about)}, ABOUT
    )
    by_name, edits = dict(constants()), list[Edit]()
    for number in json.loads((folder / "fit.json").read_text(encoding="utf-8"))["numbers"]:
        if not number["is_free"]:
            continue
        value, stated = settled(number), number["stated"]
        for name in number["members"]:
            file, constant = by_name[name]
            edits += edits_of(file, constant, value, stated)
    for file in dict.fromkeys(edit.file for edit in edits):
        file.write_text(
            edited(file.read_text(encoding="utf-8"), [e for e in edits if e.file == file]), encoding="utf-8"
        )


def settled(number: Mapping[str, Any]) -> float:
    """The value to ship: the fitted one to three digits, or the stated one if the fit hardly changed it."""
    return float(f"{number['value']:.{DIGITS}g}") if abs(number["moved"]) >= LEAST_MOVED else float(number["stated"])


def constants() -> Iterator[tuple[str, tuple[Path, Constant]]]:
    """The constants of all shipped parts and the inputs of all scenarios by name, each with its file."""
    files = {name: file for kind in PARTS for name, file in shipped_parts(kind).items()}
    for constant in shipped_constants():
        yield constant.name, (files[constant.file], constant)
    for name in shipped():
        scenario = load(name)
        for path, constant in scenario_inputs(scenario).items():
            yield f"{name}.{path}", (scenario.file, constant)


def edits_of(file: Path, constant: Constant, value: float, prior: float) -> Iterator[Edit]:
    """The edits for a constant, for each of its places."""
    written, median = (re.sub(r"^(-?\d+)\.0\b", r"\1", str(constant.written(number))) for number in (value, prior))
    for path, number in constant.places():
        yield Edit(
            file, path, number, written if value != constant.value else "", None if written == median else median
        )


def edited(text: str, edits: list[Edit]) -> str:
    """The text of a file with numbers replaced, and priors added or removed; everything else is unchanged."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    changes: list[tuple[int, int, str]] = []
    for edit in edits:
        body = node_at(root, edit.path)
        entries = {key.value: (key, value) for key, value in body.value}
        _, number = entries[edit.number]
        kept = number.style if number.style in ("'", '"') else ""
        if edit.value:
            changes.append((number.start_mark.index, number.end_mark.index, f"{kept}{edit.value}{kept}"))
        if "prior" in entries:
            key, prior = entries["prior"]
            kept = prior.style if prior.style in ("'", '"') else ""
            if edit.prior is not None:
                changes.append((prior.start_mark.index, prior.end_mark.index, f"{kept}{edit.prior}{kept}"))
            else:
                changes.append((start_of_entry(text, key.start_mark.index), prior.end_mark.index, ""))
        elif edit.prior is not None:
            quoted = f"{kept}{edit.prior}{kept}"
            between = ", " if body.flow_style else "\n" + " " * entries[edit.number][0].start_mark.column
            changes.append((number.end_mark.index, number.end_mark.index, f"{between}prior: {quoted}"))
    for start, end, new in sorted(set(changes), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def node_at(root: Any, path: tuple[Any, ...]) -> Any:
    """The node of a document at a path."""
    node = root
    for step in path:
        if isinstance(node, yaml.SequenceNode):
            node = node.value[int(step)]
        else:
            node = next(value for key, value in node.value if key.value == str(step))
    return node


def start_of_entry(text: str, start: int) -> int:
    """Position of the comma or line end before an entry of a mapping."""
    return max(text.rfind(",", 0, start), text.rfind("\n", 0, start))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

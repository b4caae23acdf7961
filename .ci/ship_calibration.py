"""Ship a calibration: its centre as the constants of the shipped files, its ensemble, its log and its summary.

``python .ci/ship_calibration.py FOLDER`` takes the folder that ``hostsim calibrate -o FOLDER`` has filled. A number that the data hold keeps
its shipped value where that lies in the middle half of its posterior, or is the stated one and the data pull towards it; elsewhere it gets the
posterior's median, with the stated value beside it. One that an earlier calibration has moved keeps its value, too, as long as that lies there
(docs/decisions/0171). Every other number gets its stated value, and so does one that is named with a reason: ``FOLDER NAME=REASON ...``.
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
from hostsim.lab.calibration.prior_ensemble import draw_from_priors
from hostsim.lab.calibration.shipped_claims import shipped_joint
from hostsim.scenario.cost_model import PARTS, Constant, scenario_inputs, shipped_constants
from hostsim.scenario.load import load
from hostsim.scenario.selection import select
from hostsim.scenario.shipped_data import data_root, predictions, shipped, shipped_ensemble, shipped_parts

DIGITS = 3
ABOUT = (
    "Ensemble of hosts: a row a member, a column a constant or an input, in their units.",
    "The last wave of the joint calibration to the published claims (docs/calibration.md), each of whose members was run. What no claim is",
    "behind, for it is asked by predictions alone, is drawn from its prior.",
)


@dataclass(frozen=True)
class Edit:
    """A number of a file, and the median of its prior where another number stands there."""

    file: Path
    path: tuple[Any, ...]
    number: str
    value: str
    """Empty where it stands there already."""
    prior: str | None


def main(folder: Path, kept: Mapping[str, str]) -> None:
    """Write everything that is shipped of a calibration.

    Args:
        folder: of the calibration.
        kept: numbers that keep their stated values whatever it has found, each with the reason.
    """
    found = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    target = data_root() / "calibration"
    for name in ("calibration.json", "log.csv", "members.csv"):
        shutil.copy(folder / name, target / name)
    shutil.copy(folder / "residuals.svg", target.parents[1] / "docs" / "images" / "calibration.svg")
    calibrated = read_ensemble(folder / "ensemble.csv").members
    drawn = draw_from_priors(select(among={**shipped(), **predictions()}), len(calibrated))
    members = {place: drawn[place] | dict(values) for place, values in enumerate(calibrated)}
    write_ensemble(shipped_ensemble(), members, ABOUT)
    joint, _ = shipped_joint(folder)
    if unknown := sorted(kept.keys() - {prior.name for prior in joint.design.priors}):
        sys.exit(f"no number of the calibration: {', '.join(unknown)}")
    by_name = dict(constants())
    edits: list[Edit] = []
    values: dict[str, float] = {}
    for prior, learnt in zip(joint.design.priors, found["summary"]["learnt"], strict=True):
        is_held = prior.name in found["held"]
        for name in prior.members:
            file, constant = by_name[name]
            keeps = prior.name in kept
            value = prior.value if keeps else settled(constant, learnt, is_held=is_held, stated=prior.value)
            value = min(max(value, prior.low), prior.high)
            edits += edits_of(file, constant, value, prior.value)
            if is_held or value != prior.value:
                values[prior.name] = value
    found |= {"shipped": values, "kept": dict(kept)}
    (target / "summary.json").write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    for file in dict.fromkeys(edit.file for edit in edits):
        file.write_text(
            edited(file.read_text(encoding="utf-8"), [e for e in edits if e.file == file]), encoding="utf-8"
        )


def settled(constant: Constant, learnt: Mapping[str, Any], *, is_held: bool, stated: float) -> float:
    """The value to ship of a number.

    Args:
        constant: as shipped; it has a prior where an earlier calibration has moved it.
        learnt: of it, by this calibration.
        is_held: by the data.
        stated: what its source says.
    """
    low, high = learnt["middle"]
    _, median, _ = learnt["posterior"]
    was_moved = constant.prior is not None
    is_pulled_to = not was_moved and (constant.value - median) * learnt["moved"] > 0
    if (low <= constant.value <= high or is_pulled_to) and (is_held or was_moved):
        return constant.value
    return float(f"{median:.{DIGITS}g}") if is_held else stated


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
    """What has to be written of a constant, in each place where it stands."""
    written, median = (re.sub(r"^(-?\d+)\.0\b", r"\1", str(constant.written(number))) for number in (value, prior))
    for path, number in constant.places():
        yield Edit(
            file, path, number, written if value != constant.value else "", None if written == median else median
        )


def edited(text: str, edits: list[Edit]) -> str:
    """The text of a file with numbers replaced, and priors written beside them or taken away; everything else as it is."""
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
    """Where the comma or the line end before an entry of a mapping is."""
    return max(text.rfind(",", 0, start), text.rfind("\n", 0, start))


if __name__ == "__main__":
    main(Path(sys.argv[1]), dict(argument.split("=", 1) for argument in sys.argv[2:]))

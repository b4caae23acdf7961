"""Shipping a calibration edits numbers in YAML files, adds priors, and leaves everything else unchanged."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.ci_tool import load_tool

ROOT = Path(__file__).parents[2]

FILE = """\
costs:  # of a dispatch
  flow: {cycles: 400, assumed: "two look-ups, {of} a table", range: [200, 900]}
  tried: {cycles: 381, prior: 400, assumed: why, range: [200, 900]}
  timed:
    time: "3 us"  # what the sources say
    assumed: why
    range: ["1 us", "9 us"]
  other: {cycles: 7}
"""


@pytest.fixture(scope="module")
def ship() -> ModuleType:
    """The tool as a module."""
    return load_tool("ship_calibration")


@pytest.mark.parametrize(
    ("name", "number", "value", "prior", "old", "new"),
    [
        ("flow", "cycles", "377", "400", "cycles: 400,", "cycles: 377, prior: 400,"),
        ("flow", "cycles", "", None, "", ""),
        ("tried", "cycles", "400", None, "cycles: 381, prior: 400,", "cycles: 400,"),
        ("tried", "cycles", "390", "400", "cycles: 381,", "cycles: 390,"),
        ("timed", "time", "2 us", "3 us", '    time: "3 us"', '    time: "2 us"\n    prior: "3 us"'),
    ],
    ids=["new prior", "nothing", "back to its prior", "another value", "in a block, quoted"],
)
def test_a_number_and_its_prior_alone_are_edited(ship, name, number, value, prior, old, new):
    """Comments, quotes, the order of entries and the style of mappings are preserved."""
    edit = ship.Edit(Path("file.yaml"), ("costs", name), number, value, prior)
    assert ship.edited(FILE, [edit]) == FILE.replace(old, new, 1)


def test_edits_of_one_file_do_not_move_each_other(ship):
    """All at once, in any order."""
    edits = [
        ship.Edit(Path("file.yaml"), ("costs", name), number, value, prior)
        for name, number, value, prior in (
            ("timed", "time", "2 us", "3 us"),
            ("flow", "cycles", "12345", "400"),
            ("tried", "cycles", "400", None),
        )
    ]
    costs = yaml.safe_load(ship.edited(FILE, edits))["costs"]
    assert (costs["flow"]["cycles"], costs["flow"]["prior"]) == (12345, 400)
    assert (costs["timed"]["time"], costs["timed"]["prior"]) == ("2 us", "3 us")
    assert "prior" not in costs["tried"]
    assert costs["other"] == {"cycles": 7}


@pytest.mark.parametrize(("moved", "shipped"), [(0.3, 10.0), (-0.1, 10.0), (0.09, 12.0)])
def test_what_the_fit_hardly_moves_keeps_its_stated_value(ship, moved, shipped):
    """The other numbers get the fitted value, to three digits."""
    assert ship.settled({"value": 10.004, "stated": 12.0, "moved": moved}) == shipped


def test_every_shipped_number_is_found_in_its_file(ship):
    """An unchanged value edits nothing; another one becomes the file's value, with the prior beside it."""
    same, other = defaultdict(list), defaultdict(list)
    for _, (file, constant) in ship.constants():
        prior = constant.value if constant.prior is None else constant.prior
        same[file] += ship.edits_of(file, constant, constant.value, prior)
        if constant.range is not None and not constant.words:
            low, high = constant.range
            other[file] += ship.edits_of(file, constant, high, low)
    assert sum(map(len, other.values())) > 150
    for file, edits in same.items():
        before = file.read_text(encoding="utf-8")
        assert ship.edited(before, edits) == before, file
        after = yaml.safe_load(ship.edited(before, other[file]))
        for edit in other[file]:
            body = after
            for step in edit.path:
                body = body[int(step)] if isinstance(body, list) else body[step]
            written = [str(body[key]) for key in (edit.number, "prior")]
            assert written == [edit.value or written[0], edit.prior], edit

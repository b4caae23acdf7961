"""The drawing of a verdict stays inside its frame for any numbers."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest

from hostsim.results.search_answer import Bound
from hostsim.views.report.page import WIDTH, gauge
from tests.sample_results import verdict


def shapes(*args, **kwargs) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for shape in ET.fromstring(gauge(verdict(*args, **kwargs), outcome="in band")):  # noqa: S314  our own text
        found.setdefault(f"{shape.tag}.{shape.get('class')}", []).append(dict(shape.attrib))
    return found


def test_a_value_in_its_band_is_drawn_inside_it():
    """The picture agrees with the verdict."""
    drawn = shapes()
    band, dot = drawn["rect.band"][0], drawn["circle.in-band"][0]
    assert float(band["x"]) < float(dot["cx"]) < float(band["x"]) + float(band["width"])


def test_a_value_outside_is_drawn_outside():
    """A failing value is visible as failing."""
    drawn = shapes(value=9.0, interval=(8.5, 9.5))
    band, dot = drawn["rect.band"][0], drawn["circle.in-band"][0]
    assert float(dot["cx"]) > float(band["x"]) + float(band["width"])


def test_without_a_value_only_the_band_is_drawn():
    """Unmeasured values are not drawn."""
    assert set(shapes(value=None, interval=(None, None))) == {"line.axis", "rect.band"}


@pytest.mark.parametrize(
    ("bound", "interval", "ends"),
    [
        (Bound.AT_LEAST, (2.0, None), "right"),
        (Bound.AT_LEAST, (None, None), "right"),
        (Bound.LESS_THAN, (None, 2.0), "left"),
    ],
)
def test_the_line_of_a_bound_reaches_to_the_open_side(bound, interval, ends):
    """From the value, or the end of its interval, to the edge."""
    drawn = shapes(value=2.0, interval=interval, bound=bound)
    line, dot = drawn["line.in-band"][0], drawn["circle.in-band"][0]
    value, edge = ("x1", "x2") if ends == "right" else ("x2", "x1")
    assert (line[value], float(line[edge])) == (dot["cx"], WIDTH if ends == "right" else 0)


@pytest.mark.parametrize("band", [(None, 1.0), (1.0, None), (0.0, 0.0), (None, None), (-1e9, 1e-9)])
@pytest.mark.parametrize("value", [0.0, 1e12, -1e12, math.nan, None])
def test_every_mark_lies_inside_the_frame(band, value):
    """Open bands, single values and far outliers stay inside the picture."""
    drawn = shapes(band=band, value=value, interval=(-math.inf, math.inf))
    rect = drawn["rect.band"][0]
    assert float(rect["x"]) >= 0
    assert float(rect["x"]) + float(rect["width"]) <= WIDTH + 2
    assert all(0 <= float(dot["cx"]) <= WIDTH for dot in drawn.get("circle.in-band", []))


def test_each_outcome_has_a_mark_of_its_own():
    """They are distinct without colours."""
    marks = [
        gauge(verdict(), outcome=outcome).rsplit("<", 2)[1].split(" ")[0] for outcome in ("in band", "known red", "red")
    ]
    assert marks == ["circle", "path", "rect"]

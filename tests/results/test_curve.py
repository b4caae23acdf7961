"""Curves as tidy frames: means, intervals, and refused arguments."""

from __future__ import annotations

import numpy as np
import pytest

from hostsim.errors import InputError
from hostsim.results.curve import curve_frame, curve_spec, figure_rows, is_partial
from hostsim.results.figure import FigureSpec
from tests.sample_results import results, table


def test_the_numbers_of_a_curve_say_where_it_has_no_bound() -> None:
    """An infinite mean is not a missing one; its interval has no ends."""
    rows = table()
    rows["settled_response_p95"] = rows["replication"].where(rows["receivers"] < 2, np.inf)
    frame = curve_frame(rows, FigureSpec("response", "receivers", "settled_response_p95"))
    last = frame[frame["receivers"] == 2]
    assert list(last["mean"]) == [np.inf]
    assert last[["low", "high"]].isna().all(axis=None)
    assert np.isfinite(frame.loc[frame["receivers"] < 2, ["mean", "low", "high"]]).all(axis=None)


def test_failed_runs_are_no_rows_of_a_figure_and_make_it_partial() -> None:
    """The figure draws the finished runs and reports the others."""
    figure = curve_spec(table(), "receivers", "loss")
    assert list(figure_rows(table(), figure)["point"]) == ["p1"] * 3 + ["p2"] * 2
    assert is_partial(table(), figure)
    assert not is_partial(table().iloc[:-1], figure)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"x": "reciever", "y": "loss"}, "did you mean 'receivers'"),
        ({"x": "receivers", "y": "los"}, "did you mean 'loss'"),
        ({"x": "receivers", "y": "loss", "by": "split"}, "unknown axis; given split"),
        ({"x": "receivers", "y": "loss", "at": {"receivers": 3}}, "allowed: one of 1, 2"),
    ],
)
def test_a_curve_of_what_the_table_does_not_have_is_refused(asked: dict[str, object], message: str) -> None:
    """Axes, measures and values, each with the allowed ones."""
    with pytest.raises(InputError, match=message):
        results().curve(**asked)

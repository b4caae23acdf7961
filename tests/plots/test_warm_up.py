"""The figure of a warm-up shows the series that determined it, and the cut."""

from __future__ import annotations

import numpy as np
import pytest

from hostsim.engine.record import RunRecord, Series
from hostsim.errors import InputError
from hostsim.results.warm_up import SETTLED
from hostsim.views.plots.style import as_svg
from hostsim.views.plots.time_series import draw_warm_up

SECOND = 10**12


def record(*flags: str, **changes: object) -> RunRecord:
    """Ten seconds of two PCPUs, fully busy in the first two and half busy then; 1,000 packets per second."""
    busy = np.array([1.0] * 2 + [0.5] * 8)
    values = np.concatenate([[0], np.cumsum(busy * SECOND)]).astype(np.int64)
    series = {
        "pcpu.busy_ps": Series(("pcpu0", "pcpu1"), np.stack([values, values], axis=1)),
        "guest.read": Series(("eth0",), np.arange(11, dtype=np.int64)[:, np.newaxis] * 1000),
    }
    instants = np.arange(11, dtype=np.int64) * SECOND
    fields = {"series": series, "histograms": {}, "cut": 2, "flags": flags}
    return RunRecord("id", 3, 1, {"rate": "40 kpps"}, instants, **(fields | changes))


def test_each_series_is_drawn_with_the_cut_and_the_level_after_it():
    """Busy time in percent of all PCPUs, packets per second; nothing was dropped."""
    panels = draw_warm_up(record()).get_axes()
    assert [axes.get_ylabel() for axes in panels] == ["busy (%)", "read (pps)", "dropped (pps)"]
    assert len(panels) == len(SETTLED)
    steps = [axes.patches[0].get_data().values.tolist() for axes in panels]
    assert steps == [[100] * 2 + [50] * 8, [1000] * 10, [0] * 10]
    for axes, level in zip(panels, (50, 1000, 0), strict=True):
        (cut,) = {line.get_xdata()[0] for line in axes.get_lines()}
        assert cut == 2
        assert axes.collections[0].get_segments()[0].tolist() == [[2, level], [10, level]]
        assert axes.get_xlim() == (0, 10)


def test_the_title_names_the_run_the_cut_and_the_flag():
    """A reader knows which run to inspect."""
    title = draw_warm_up(record()).get_axes()[0].get_title(loc="left")
    assert title == "rate = 40 kpps, replication 3\nwarm-up 2 of 10 s"
    flagged = draw_warm_up(record("warm-up")).get_axes()[0].get_title(loc="left")
    assert flagged.endswith("2 of 10 s, flagged warm-up")
    assert as_svg(draw_warm_up(record())) == as_svg(draw_warm_up(record()))


def test_a_failed_run_has_no_warm_up():
    """The error has the reason."""
    with pytest.raises(InputError, match="InvariantError: lost"):
        draw_warm_up(record(error="Traceback\nInvariantError: lost"))

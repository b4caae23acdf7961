"""Distributions and time series of a small sweep, against its percentiles and counters."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import hostsim
from hostsim.results.distribution import added
from tests.tiny_scenario import TINY

mpl.use("agg")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("times") / "tiny.yaml"
    path.write_text(TINY)
    return hostsim.run(path, quick=True, jobs=1, results=path.parent / "results")


def test_a_cdf_passes_through_the_percentiles(found) -> None:
    """For the single run at the point: half of the packets took at most the median, linear inside a bucket."""
    axes = found.plot_cdf(at={"receivers": 2, "rate": 5000})
    [line] = axes.lines
    row = found.table.query("receivers == 2 and rate == 5000").iloc[0]
    for percentile in (50, 95):
        assert np.interp(row[f"latency_p{percentile}"], *line.get_data()) == pytest.approx(percentile)
    assert axes.get_xlabel() == "One-way latency (µs)"
    assert axes.get_ylabel() == "Packets that took no longer (%)"


def test_distributions_have_a_line_each_and_their_own_looks(found) -> None:
    """For several points, and for further results on the same axes, which are named in the legend."""
    axes = found.plot_cdf(by="rate")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["rate=2 kpps", "rate=5 kpps"]
    found.plot_cdf(at={"rate": 5000}, label="again", ax=axes)
    assert axes.get_legend().get_texts()[-1].get_text() == "again"
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 3
    bars = found.plot_histogram(by="rate")
    assert bars.get_ylabel() == "Packets in each bucket (%)"
    assert [patch.get_data().values.sum() for patch in bars.patches] == pytest.approx([100, 100])


def test_a_distribution_is_a_tidy_frame(found) -> None:
    """Counts of all receivers in the window; units in attrs; the axis is a number."""
    frame = found.distribution(by="rate", at={"receivers": 2})
    assert list(frame.columns) == ["rate", "low", "high", "count", "share", "cumulative"]
    assert frame.attrs["units"] == {"low": "us", "high": "us", "share": "%", "cumulative": "%", "rate": "pps"}
    record = found.record({"receivers": 2, "rate": 5000})
    counts = record.histograms["flow.latency"].counts
    assert frame.loc[frame["rate"] == 5000, "count"].sum() == (counts[-1] - counts[record.cut]).sum()
    assert frame.groupby("rate")["cumulative"].last().to_list() == [100, 100]


def test_histograms_of_several_runs_are_added(found) -> None:
    """Each is trimmed to its own buckets; those of the rates differ."""
    short, long = (found.record({"rate": rate}).histograms["flow.latency"] for rate in (2000, 5000))
    assert len(short.edges_ps) != len(long.edges_ps)
    edges, counts = added([(short, 0), (long, 0)])
    assert counts.sum() == short.counts[-1].sum() + long.counts[-1].sum()
    assert dict(zip(edges, counts, strict=False))[short.edges_ps[0]] >= short.counts[-1].sum(axis=0)[0]
    assert edges[-1] == long.edges_ps[-1]


def test_a_time_series_is_a_share_a_rate_or_a_level(found) -> None:
    """By the counter's kind, slice by slice; of many entities the largest, and the mean of the others."""
    record = found.record({"receivers": 2, "rate": 5000})
    axes = found.plot_series("guest.interrupts", at={"receivers": 2, "rate": 5000})
    seconds, values = axes.lines[0].get_data()
    assert (values[:-1] * np.diff(seconds)).sum() == pytest.approx(record.series["guest.interrupts"].values[-1, 0])
    assert axes.get_ylabel() == "guest: interrupts (1/s)"
    busy = found.plot_series("pcpu.busy_ps")
    assert busy.get_ylabel() == "pcpu: busy (% of the time)"
    assert [line.get_label() for line in busy.lines][-1] == "mean of 9 others"
    assert max(line.get_ydata().max() for line in busy.lines) <= 100
    level = found.plot_series("port.ring_inside", at={"receivers": 2, "rate": 5000})
    np.testing.assert_array_equal(level.lines[0].get_ydata()[:-1], record.series["port.ring_inside"].values[1:, 0])


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda found: found.plot_cdf("latenc"), "unknown distribution.*did you mean 'latency'"),
        (lambda found: found.plot_cdf("response_time"), "no run observes a response time"),
        (lambda found: found.plot_histogram(by="rat"), "unknown axis.*did you mean 'rate'"),
        (lambda found: found.plot_cdf(by="trafic"), "by: unknown axis.*did you mean 'traffic'"),
        (lambda found: found.plot_cdf(at={"rate": 7}), "no point is there"),
        (lambda found: found.plot_series("queue.insid"), "unknown counter.*did you mean 'queue.inside'"),
        (lambda found: found.record(replication=7), "replication: no such run; given 7; allowed: one of 0"),
    ],
    ids=["time", "no such traffic", "axis", "kind of subject", "value", "counter", "replication"],
)
def test_what_is_not_there_is_refused_with_the_nearest(found, ask, words) -> None:
    """An empty plot would suggest that nothing was measured."""
    with pytest.raises(hostsim.InputError, match=words):
        ask(found)

"""One run: the detected end of its warm-up, and runs that do not settle."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from hostsim.campaign.simulate import _warm_up, simulate
from hostsim.config.arrival import ArrivalSpec, ServiceSpec
from hostsim.config.host import PointSpec
from hostsim.engine.record import RunRecord, Series
from hostsim.lab.verification.rig import point
from hostsim.model.host import Host
from hostsim.results.warm_up import SETTLED, mser5
from hostsim.units import MS, US

SLICE = 1_000_000
SLICES = 128


def level(*changes: tuple[int, float]) -> list[float]:
    """Rates of all slices: 1, except in the first slices, which have the given rates."""
    early = [rate for count, rate in changes for _ in range(count)]
    return early + [1.0] * (SLICES - len(early))


def cut(**rates: list[float]) -> int:
    """The warm-up of a run whose counters grew at given rates, and others not at all."""
    named = {name.replace("__", "."): values for name, values in rates.items()}
    series = {}
    for counter in ("flow.intended", *(counter for counters in SETTLED.values() for counter in counters)):
        grown = np.rint(np.array([0.0, *named.get(counter, [0.0] * SLICES)]) * SLICE).astype(np.int64)
        series[counter] = Series(("one",), np.cumsum(grown)[:, np.newaxis])
    return _warm_up(np.arange(SLICES + 1, dtype=np.int64) * SLICE, series)


def test_rare_drops_are_no_warm_up() -> None:
    """Ten late drops in a million packets leave the run unchanged; in a thousand packets they do not."""
    drops = [0.0] * (SLICES - 10) + [1e-6] * 10
    assert cut(queue__dropped=drops, flow__intended=level()) == 0
    assert cut(queue__dropped=[1e-2] * 32 + [0.0] * (SLICES - 32), flow__intended=level()) == 32


def test_a_run_that_starts_level_has_no_warm_up() -> None:
    """A run that does nothing has no warm-up either."""
    assert cut(pcpu__busy_ps=level()) == 0
    assert cut() == 0


def test_a_cut_that_changes_nothing_is_not_made() -> None:
    """MSER-5 would cut ten slices that are 2 % higher: the mean of all is 0.16 % off."""
    rates = level((10, 1.02))
    assert mser5(np.array(rates)) == 10
    assert cut(pcpu__busy_ps=rates) == 0


def test_a_start_on_another_level_is_cut_where_mser_5_says() -> None:
    """Neither the whole run nor the rest after the first sixteenth, eight slices, has the level of the remainder."""
    rates = level((10, 2.0))
    assert mser5(np.array(rates)) == 10
    assert cut(pcpu__busy_ps=rates) == 10


def test_the_first_sixteenth_that_leaves_the_level_is_enough() -> None:
    """The part cut by MSER-5 beyond eight slices differs by 0.17 %."""
    rates = level((8, 2.0), (2, 1.1))
    assert mser5(np.array(rates)) == 10
    assert cut(pcpu__busy_ps=rates) == 8


@pytest.mark.parametrize(("off", "expected"), [(0.0049, 0), (0.0051, 8)])
def test_half_a_percent_of_the_larger_is_the_same_level(off: float, expected: int) -> None:
    """The mean of all is too high by the given share; without the first sixteenth it is too high by a fifth of that."""
    high = 1 + (1 / (1 - off) - 1) * SLICES / 10
    assert cut(pcpu__busy_ps=level((10, high))) == expected


def test_all_that_must_settle_has_settled() -> None:
    """The slowest of them decides; counters of one group count together."""
    assert cut(pcpu__busy_ps=level(), guest__read=level((10, 0.0)), queue__dropped=level((20, 3.0))) == 20
    falling, rising = level((20, 2.0)), [2 - rate for rate in level((20, 2.0))]
    assert cut(queue__dropped=falling, port__ring_dropped=rising) == 0
    assert cut(queue__dropped=falling) == 20


# --- runs that do not settle at once


def busy_until(ramp: int, length: int) -> PointSpec:
    """A vCPU whose load rises by 1 % of its time per ms until ``ramp``, and then stays constant."""
    instants, now = [], 0.0
    while now < 5 * length:
        rate = 0.01 * max(1.0, min(now, ramp) / MS) / (1 * US)
        now += 1 / rate
        instants.append(round(now))
    work = (
        point("queue.yaml")
        .traffic["bursts"]
        .model_copy(
            update={
                "rate": None,
                "arrivals": ArrivalSpec(process="replay", timestamps_ps=tuple(instants)),
                "service": ServiceSpec(distribution="constant", mean="1 us"),
            }
        )
    )
    return point("queue.yaml").model_copy(update={"traffic": {"bursts": work}, "length": length})


def run(spec: PointSpec) -> RunRecord:
    return simulate(spec, point_id="p", axes={}, seed=1, replication=0, flags=("known before",))


@pytest.mark.parametrize(
    ("ramp", "lengthening", "lasted", "flags"),
    [
        (2, 0.25, 10_000, ()),
        (6, 0.25, 12_500, ()),
        (9, 0.25, 19_531, ()),
        (9, 1, 20_000, ()),
        (18, 1, 40_000, ()),
        (90, 0.25, 38_147, ("warm-up",)),
        (90, 1, 40_000, ("warm-up",)),
    ],
)
def test_a_run_is_lengthened_by_little_until_half_of_it_is_settled(
    ramp: int, lengthening: float, lasted: int, flags: tuple[str, ...]
) -> None:
    """Microseconds, at most four times the length; a run that still rises at the end is flagged, and keeps at least two slices."""
    record = run(busy_until(ramp * MS, 10 * MS).model_copy(update={"lengthening": lengthening}))
    assert round(record.facts["simulated_s"] * 1e6) == lasted
    assert record.instants_ps[-1] == pytest.approx(lasted * US, rel=1e-4)
    assert record.flags == ("known before", *flags)
    assert len(record.instants_ps) - record.cut > 2
    if not flags:
        settled = record.instants_ps[record.cut]
        assert 0.6 * ramp * MS <= settled <= lasted * US / 2


def test_a_run_leaves_nothing_of_its_host() -> None:
    """Cycles are freed although no other search runs meanwhile; older objects are not searched, and no object is
    excluded from later searches.
    """

    class Before:
        """One that knows itself."""

    def hosts() -> list[Host]:
        return [found for found in gc.get_objects() if isinstance(found, Host)]

    gc.collect()
    others = hosts()  # from earlier tests in the same process
    old = Before()
    old.itself = old  # type: ignore[attr-defined]
    left, before = weakref.ref(old), gc.get_threshold()
    del old
    gc.disable()
    try:
        run(busy_until(1 * MS, 2 * MS))
        found = hosts()
        assert left() is not None
    finally:
        gc.enable()
    assert found == others
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
    gc.collect()
    assert left() is None


def test_a_load_that_depends_on_the_time_has_no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile that rises to ten times its rate in the middle: the run has the requested length, and all of it is measured."""
    monkeypatch.setattr("hostsim.campaign.simulate._warm_up", lambda instants, series: len(instants))
    spec = point("stream.yaml").model_copy(update={"length": 20 * MS})
    phases = [{"rate": f"{rate} kpps", "length": "10 ms"} for rate in (1, 10)]
    arrivals = ArrivalSpec.model_validate({"process": "profile", "phases": tuple(phases)})
    name, flow = next(iter(spec.traffic.items()))
    varied = {name: flow.model_copy(update={"arrivals": arrivals, "rate": None})}
    record = simulate(spec.model_copy(update={"traffic": varied}), point_id="", axes={}, seed=1, replication=0)
    assert (record.cut, record.flags, int(record.instants_ps[-1])) == (0, (), 20 * MS)
    middle = int(np.searchsorted(record.instants_ps, 10 * MS))
    sent = record.series["flow.sent"].values[:, 0]
    assert sent[-1] - sent[middle] > 5 * sent[middle]

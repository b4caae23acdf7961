"""What each kind of tuning takes off a round trip comes from the mechanism that it is ascribed to: without that mechanism it is gone, without another it is not."""

from __future__ import annotations

import pytest

from tests.test_ablation import MOST, record, value

TUNED = {"moderation": "0 us", "coalescing": "disabled", "sensitivity": "normal"}
"""Nothing holds an interrupt back."""
HALTING = ("context_switch", "cache_refill_same", "cache_refill_migrated", "halt_exit", "vcpu_wake")


NEAR = {"traffic.echo.delay": "10 us"}
"""A wire so short that the round trip takes less than the interval of the NIC."""


def response(overrides: dict[str, str] | None = None, **axes: str) -> float:
    """Mean round trip in microseconds; nothing holds an interrupt back by default."""
    return 1e3 * value(record("latency", TUNED | axes, NEAR | (overrides or {}), "300 ms"), "settled_response_mean")


def free(*costs: str) -> dict[str, str]:
    """These costs are zero."""
    return {f"platform.costs.{cost}.cycles": "0" for cost in costs}


def kept(*costs: str) -> float:
    """What a PCPU of its own gives by itself, in microseconds; some costs at zero."""
    return response(free(*costs)) - response(free(*costs), sensitivity="high")


def test_a_pcpu_of_its_own_is_worth_what_halting_costs() -> None:
    """A switch, cold caches and the way out of a halt, whichever are paid: where they cost nothing, nothing is left."""
    whole = kept()
    assert whole > 0.3
    assert abs(kept(*HALTING)) < (1 - MOST) * whole


@pytest.mark.parametrize(
    "costs",
    [("interrupt", "poll_entry"), ("guest_rx_packet", "guest_process_wake"), ("vmk_call", "driver_tx")],
    ids=" ".join,
)
def test_a_pcpu_of_its_own_is_worth_as_much_without_other_costs(costs: tuple[str, ...]) -> None:
    """What the NetPoll's wake-up, the guest's stack and a call cost at zero leaves most of it."""
    assert kept(*costs) > MOST * kept()


def test_without_moderation_there_is_nothing_that_its_tuning_gives() -> None:
    """The NIC interrupts once an interval at most, which is longer than the rest of the round trip; one that is shorter holds nothing back."""
    quick = response()
    assert response(moderation="62 us") == pytest.approx(62 + 2 / 2, rel=0.02)  # and half a step of its clock
    assert quick < 0.7 * 62
    for interval in ("0 us", "25 us"):
        assert response({"sweep.moderation.values": f"[{interval}]"}, moderation=interval) == pytest.approx(
            quick, rel=0.01
        )


def test_the_nics_interval_is_worth_as_much_without_what_halting_costs() -> None:
    """It holds interrupts back whatever a wake-up costs."""
    costs = free(*HALTING)
    assert response(costs, moderation="62 us") - response(costs) > MOST * (response(moderation="62 us") - response())


def test_rate_based_coalescing_holds_back_by_its_rate() -> None:
    """Round trips pass in one window and wait for a quarter of a millisecond in the next; with an interrupt for each, at the highest rate there is, none waits."""
    quick = response()
    assert response(coalescing="rbc") == pytest.approx(2 / (1 / quick + 1 / (quick + 250)), rel=0.05)
    # the same setting bounds a guest's calls, so that it makes one for each reply then, which a host without calls' costs does not feel
    calls = free("vmk_call", "guest_cache_refill")
    free_of_it = response(calls | {"host.advanced.Net.CoalesceRBCRate": "100000"}, coalescing="rbc")
    assert free_of_it == pytest.approx(response(calls), rel=0.05)


def test_dense_mode_leaves_a_round_trip_that_halts_its_guest_as_long_as_without_coalescing() -> None:
    """Static coalescing interrupts an idle guest at once; and the median round trip of the default falls into a window in which none waits."""

    def median(mode: str, scheme: str) -> float:
        changed = {"vms.latency.vmx.ethernet0.coalescingScheme": scheme} if scheme else {}
        return value(record("dense-latency", {"mode": mode}, changed, "500 ms"), "settled_response_p50")

    free_of_it = median("default", "disabled")
    assert [median("default", ""), median("dense", "")] == [pytest.approx(free_of_it, rel=0.05)] * 2

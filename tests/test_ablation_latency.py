"""The effect of each tuning on a round trip comes from its stated mechanism, and from no other."""

from __future__ import annotations

import pytest

from tests.test_ablation import MOST, record, value

TUNED = {"moderation": "0 us", "coalescing": "disabled", "sensitivity": "normal"}
"""Nothing holds an interrupt back."""
HALTING = ("context_switch", "cache_refill_same", "cache_refill_migrated", "halt_exit", "vcpu_wake")


NEAR = {"traffic.echo.delay": "10 us"}
"""A wire so short that a round trip takes less than the NIC's interval."""


def response(overrides: dict[str, str] | None = None, **axes: str) -> float:
    """Mean round trip in microseconds; by default no interrupt is delayed."""
    return 1e3 * value(record("latency", TUNED | axes, NEAR | (overrides or {}), "300 ms"), "settled_response_mean")


def free(*costs: str) -> dict[str, str]:
    """These costs are zero."""
    return {f"platform.costs.{cost}.cycles": "0" for cost in costs}


def kept(*costs: str) -> float:
    """Gain of an exclusive PCPU in microseconds, with some costs at zero."""
    return response(free(*costs)) - response(free(*costs), sensitivity="high")


def test_a_pcpu_of_its_own_is_worth_what_halting_costs() -> None:
    """A switch, cold caches and the halt exit, whichever are paid: if they are free, nothing is left."""
    whole = kept()
    assert whole > 0.3
    assert abs(kept(*HALTING)) < (1 - MOST) * whole


@pytest.mark.parametrize(
    "costs",
    [("interrupt", "poll_entry"), ("guest_rx_packet", "guest_process_wake"), ("vmk_call", "driver_tx")],
    ids=" ".join,
)
def test_a_pcpu_of_its_own_is_worth_as_much_without_other_costs(costs: tuple[str, ...]) -> None:
    """With zero costs of the NetPoll's wake-up, the guest's stack and a call, most of it remains."""
    assert kept(*costs) > MOST * kept()


def test_without_moderation_there_is_nothing_that_its_tuning_gives() -> None:
    """The NIC interrupts at most once per interval, which is longer than the rest of the round trip; a shorter one delays nothing."""
    quick = response()
    assert response(moderation="62 us") == pytest.approx(62 + 2 / 2, rel=0.02)  # and half a step of its clock
    assert quick < 0.7 * 62
    for interval in ("0 us", "25 us"):
        assert response({"sweep.moderation.values": f"[{interval}]"}, moderation=interval) == pytest.approx(
            quick, rel=0.01
        )


def test_the_nics_interval_is_worth_as_much_without_what_halting_costs() -> None:
    """It delays interrupts for any cost of a wake-up."""
    costs = free(*HALTING)
    assert response(costs, moderation="62 us") - response(costs) > MOST * (response(moderation="62 us") - response())


def test_rate_based_coalescing_holds_back_by_its_rate() -> None:
    """Round trips do not wait in one window, and wait for a quarter of a millisecond in the next; with an interrupt for
    each packet, at the highest possible rate, none waits.
    """
    quick = response()
    assert response(coalescing="rbc") == pytest.approx(2 / (1 / quick + 1 / (quick + 250)), rel=0.05)
    # the same setting limits a guest's calls, so that it makes one per reply, which is free on a host without call
    # costs
    calls = free("vmk_call", "guest_cache_refill")
    free_of_it = response(calls | {"host.advanced.Net.CoalesceRBCRate": "100000"}, coalescing="rbc")
    assert free_of_it == pytest.approx(response(calls), rel=0.05)


def test_dense_mode_leaves_a_round_trip_that_halts_its_guest_as_long_as_without_coalescing() -> None:
    """Static coalescing interrupts an idle guest at once; and the default's median round trip is in a window in which none waits."""

    def median(mode: str, scheme: str) -> float:
        changed = {"vms.latency.vmx.ethernet0.coalescingScheme": scheme} if scheme else {}
        return value(record("dense-latency", {"mode": mode}, changed, "500 ms"), "settled_response_p50")

    free_of_it = median("default", "disabled")
    assert [median("default", ""), median("dense", "")] == [pytest.approx(free_of_it, rel=0.05)] * 2

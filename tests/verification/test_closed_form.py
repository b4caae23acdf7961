"""Closed forms against values computed elsewhere and checked by other simulations."""

from __future__ import annotations

import math

import pytest

from hostsim.lab.verification import closed_form


@pytest.mark.parametrize(
    ("load", "exponential", "constant", "half", "four"),
    [
        (0.5, 1, 0.5, 0.75, 2.5),
        (0.7, 2.33333, 1.16667, 1.75, 5.83333),
        (0.8, 4, 2, 3, 10),
        (0.9, 9, 4.5, 6.75, 22.5),
        (0.95, 19, 9.5, 14.25, 47.5),
    ],
)
def test_one_server(load, exponential, constant, half, four):
    """Mean waits by the variation of service."""
    waits = [closed_form.mg1_wait(load, cv2) for cv2 in (1, 0, 0.5, 4)]
    assert waits == pytest.approx([exponential, constant, half, four], rel=1e-5)


@pytest.mark.parametrize(("load", "p99"), [(0.5, 9.21034), (0.7, 15.3506), (0.9, 46.0517), (0.95, 92.1034)])
def test_quantiles_of_the_sojourn(load, p99):
    """Exponential with the remaining rate."""
    assert closed_form.mm1_sojourn_quantile(load, 0.99) == pytest.approx(p99, rel=1e-5)


@pytest.mark.parametrize(
    ("servers", "load", "waits", "wait"),
    [
        (2, 0.8, 0.711111, 1.77778),
        (4, 0.8, 0.596432, 0.745541),
        (8, 0.8, 0.457645, 0.286028),
        (2, 0.9, 0.852632, 4.26316),
        (4, 0.9, 0.787753, 1.96938),
        (8, 0.9, 0.701533, 0.876916),
        (16, 0.9, 0.591343, 0.369590),
    ],
)
def test_several_servers(servers, load, waits, wait):
    """Probability of waiting, and mean wait."""
    assert closed_form.erlang_c(servers, load) == pytest.approx(waits, rel=1e-5)
    assert closed_form.mmc_wait(servers, load) == pytest.approx(wait, rel=1e-5)


@pytest.mark.parametrize(
    ("load", "capacity", "lost"),
    [
        (0.9, 10, 0.0508137),
        (0.9, 32, 0.00354318),
        (1, 32, 0.0303030),
        (1.2, 32, 0.167074),
        (1.2, 512, 0.166667),
        (2, 512, 0.5),
    ],
)
def test_loss(load, capacity, lost):
    """Share of arrivals that is lost."""
    assert closed_form.mm1k_loss(load, capacity) == pytest.approx(lost, rel=1e-5)


def test_classes_and_sharing():
    """Two classes with loads 0.3 and 0.5; processor sharing at 0.8."""
    assert closed_form.nonpreemptive_waits(0.3, 0.5) == pytest.approx((1.14286, 5.71429), rel=1e-5)
    assert closed_form.preemptive_sojourns(0.3, 0.5) == pytest.approx((1.42857, 7.14286), rel=1e-5)
    assert closed_form.processor_sharing_sojourn(0.8) == pytest.approx(5)


@pytest.mark.parametrize(("batch", "exponential", "constant"), [(4, 11.5, 9.5), (16, 41.5, 39.5), (44, 111.5, 109.5)])
def test_batches(batch, exponential, constant):
    """Mean waits at a load of 0.8."""
    assert closed_form.batch_wait(0.8, batch, 1) == pytest.approx(exponential)
    assert closed_form.batch_wait(0.8, batch, 0) == pytest.approx(constant)


@pytest.mark.parametrize(
    ("most", "rate", "root", "wait"),
    [
        (2, 1.6, 0.860147, 3.53499),
        (4, 3.2, 0.912707, 3.18062),
        (32, 25.6, 0.986066, 2.76290),
        (64, 51.2, 0.992893, 2.72818),
    ],
)
def test_bulk_service(most, rate, root, wait):
    """Root of the characteristic equation, and mean wait."""
    assert closed_form.bulk_root(rate, most) == pytest.approx(root, abs=1e-6)
    assert closed_form.bulk_wait(rate, most) == pytest.approx(wait, rel=1e-5)


def test_bulk_service_of_one_is_an_ordinary_queue():
    """M/M^(1,1)/1 is M/M/1."""
    assert closed_form.bulk_wait(0.7, 1) == pytest.approx(closed_form.mg1_wait(0.7, 1), rel=1e-6)


@pytest.mark.parametrize(
    ("rate", "depth", "timeout_us", "interrupts", "packets", "delay_us"),
    [
        (1e4, math.inf, 250, 2857.14, 3.5, 160.714),
        (1e5, math.inf, 50, 16666.7, 6, 29.1667),
        (1e5, 4, 50, 26122.1, 3.82818, 14.4676),
        (1e6, 32, 50, 31253.5, 31.9964, 15.4984),
        (1e6, 64, 1000, 15625, 64, 31.5),
        (1e4, 16, 1000, 917.724, 10.8965, 534.459),
        (1e4, 16, math.inf, 625, 16, 750),
    ],
)
def test_timer_and_count(rate, depth, timeout_us, interrupts, packets, delay_us):
    """Rate of interrupts, packets per interrupt, mean delay."""
    found = closed_form.coalesced(rate, depth, timeout_us * 1e-6)
    assert found == pytest.approx((interrupts, packets, delay_us * 1e-6), rel=1e-5)


@pytest.mark.parametrize(
    ("rate", "interrupts", "packets"), [(1e3, 884.797, 1.1302), (1e4, 3671.66, 2.72356), (1e5, 4000, 25)]
)
def test_ticks(rate, interrupts, packets):
    """A tick announces the packets since the last one; on average they have waited half a period."""
    assert closed_form.ticked(rate, 4000) == pytest.approx((interrupts, packets, 125e-6), rel=1e-5)


def test_pacing_has_its_limits():
    """Rare packets are announced one by one at once; many wait for half an interval."""
    assert closed_form.paced_interrupts(1.0, 250e-6) == pytest.approx((1, 1, 0), abs=1e-3)
    assert closed_form.paced_interrupts(1e6, 250e-6) == pytest.approx((4000, 250, 125e-6))


@pytest.mark.parametrize(
    ("queues", "exhaustive", "gated", "limited"),
    [(2, 4.3, 4.7, 7.83333), (4, 4.8, 5.2, 8.66667), (8, 5.8, 6.2, 10.3333)],
)
def test_polling(queues, exhaustive, gated, limited):
    """Mean waits at a load of 0.8 with a tenth of a service for every switch."""
    found = [closed_form.polling_wait(queues, 0.8, 0.1, service) for service in ("exhaustive", "gated", "limited")]
    assert found == pytest.approx([exhaustive, gated, limited], rel=1e-5)

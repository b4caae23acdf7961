"""Connections opened and closed for each file: their packets, their time and their guest cost, by hand."""

from __future__ import annotations

import pytest

from hostsim.config.host import PointSpec
from hostsim.config.traffic import Traffic
from hostsim.engine.random_stream import Streams
from hostsim.errors import WiringError
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.units import MS, NS, SECOND, US, transmission_ps
from tests.model.small_point import SOURCE, datagrams, files, group, guest, point, run

SMALL = transmission_ps(38 + 52, 10e9)
"""A frame without data on the wire."""
STACK = {"guest_rx_packet": 250, "guest_rx_ack": 190, "guest_ack": 130}
CONNECTION = 30_000
"""Nanoseconds of a connection in the guest."""
OPENS = guest(connection={"cycles": float(CONNECTION), "source": SOURCE})


def fetching(method: str, *, keep: bool, think: str = "0 s", **changes: object) -> PointSpec:
    """A user who fetches or posts files of one segment."""
    flow = files(method, size="1448 B", keep_alive=keep, think_time=think)
    values = {"traffic": {"f": flow}, "cost": STACK}
    return point(group(guest=OPENS), **values | changes)  # type: ignore[arg-type]


def counts(host: Host) -> tuple[float, float, float]:
    """Frames received and sent, and nanoseconds of the guest, per file."""
    flow = host.flows[0]
    used = host.vcpus[0].used / flow.answered / NS
    return flow.sent / flow.answered, flow.out / flow.answered, used


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_connection_takes_six_packets_and_its_cost(method: str) -> None:
    """SYN, ACK and FIN-ACK of the client; SYN-ACK, FIN and ACK of the guest; guest time is that of each in its stack."""
    kept, closed = (counts(run(fetching(method, keep=keep), 50 * MS)) for keep in (True, False))
    assert closed[0] - kept[0] == pytest.approx(3, abs=0.01)
    assert closed[1] - kept[1] == pytest.approx(3, abs=0.01)
    # the SYN goes up the whole stack, acknowledgements do not, and three packets without data are sent
    assert closed[2] - kept[2] == pytest.approx(250 + 2 * 190 + 3 * 130 + CONNECTION, rel=0.005)


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_response_waits_for_the_handshake_and_half_of_the_cost(method: str) -> None:
    """The other half follows the reply; a user with think time does not wait for it."""
    times = []
    for keep in (True, False):
        flow = run(fetching(method, keep=keep, think="2 ms"), 200 * MS).flows[0]
        flow.response.flush()
        times.append(flow.response.total / flow.answered)
    # the SYN and its reply in the guest, and the ACK before the request
    handshake = 2 * SMALL + 10 * US + (250 + 130 + 190) * NS
    # of a frame on the wire, either ACK or request is first
    assert times[1] - times[0] == pytest.approx(handshake + CONNECTION * NS / 2, abs=SMALL + 250 * NS)


@pytest.mark.parametrize("method", ["get", "post"])
def test_each_connection_begins_with_the_first_window(method: str) -> None:
    """With three segments an initial window of one takes a further round trip each time; on a kept connection only once."""
    trips = []
    for window in (1, 3):
        few = guest(connection={"cycles": 0.0, "source": SOURCE}, initial_window=window)
        flow = files(method, size="4344 B", keep_alive=False, delay="1 ms")
        host = run(point(group(guest=few), traffic={"f": flow}, cost={}), 200 * MS)
        host.flows[0].response.flush()
        trips.append(host.flows[0].response.total / host.flows[0].answered / MS)
    assert trips[0] - trips[1] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("where", ["in", "out"])
def test_lost_packets_of_a_handshake_are_sent_again(method: str, where: str) -> None:
    """Users resume after each period in which all received or all sent packets are lost."""
    slow = guest(connection={"cycles": 1e8, "source": SOURCE})
    # a port reports losses with the next frames that it does not lose
    flows: dict[str, Traffic] = {
        "f": files(method, size="1448 B", keep_alive=False),
        "u": datagrams("receive", rate="100 pps"),
    }
    host = run(point(group(guest=slow), traffic=flows, cost=STACK), 300 * MS)
    totals, ring = host.flows[0], host.queues[0].ring if where == "in" else host.transmits[0].ring
    now = host.clock.now
    for stretch in (10, 60, 110, 160):
        size, ring.capacity = ring.capacity, 0
        host.clock.advance(now := now + stretch * MS)
        ring.capacity = size
        before = totals.answered
        host.clock.advance(now := now + 4 * SECOND)
        assert totals.answered > before + 5
    assert totals.lost_nic + totals.lost_out > 3


def test_a_guest_without_the_cost_is_refused() -> None:
    """The wiring refuses it even if the loader did not check."""
    spec = point(traffic={"f": files("get", keep_alive=False)})
    with pytest.raises(WiringError, match="has no cost of a connection"):
        build_host(spec, Streams(1, 0))


def test_only_runs_that_open_connections_depend_on_their_cost() -> None:
    """Existing stored runs are thus still found."""
    other = guest(connection={"cycles": 1.0, "source": SOURCE})
    for keep in (True, False):
        spec = fetching("get", keep=keep)
        changed = spec.model_copy(update={"vms": (group(guest=other),)})
        assert (spec.digest() == changed.digest()) is keep
    assert fetching("get", keep=True).digest() != fetching("get", keep=False).digest()

"""Offered load of a run: traffic that is too slow to make a packet while it lasts, or that meets itself on its way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hostsim.errors import Fault
from hostsim.scenario.schema import PointFile
from hostsim.scenario.yaml.reader import KeyPath
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.spec.quantity import LONGEST
from hostsim.spec.traffic import Connected, Traffic
from hostsim.units import SECOND

__all__ = ["load_faults"]

_FASTEST = float(SECOND)
"""Arrivals a second of which two are a picosecond apart."""


def load_faults(tree: Tree, file: PointFile, traffic: Mapping[str, Traffic], length_ps: int) -> Iterator[Fault]:
    """Traffic that makes nothing in a run, or more than time can tell apart, and connections that have the same ports.

    Args:
        tree: the scenario.
        file: the same, read.
        traffic: its flows, sound by themselves.
        length_ps: simulated time of a run.
    """
    for name, flow in traffic.items():
        path: KeyPath = ("traffic", name)
        vms = sum(file.vms[group].count for group in flow.to)
        if not vms:
            continue
        yield from _pace_faults(tree, path, flow, flow.stream_count(vms), length_ps)
        if isinstance(flow, Connected):
            yield from _delay_faults(tree, path, flow, vms, length_ps)
    yield from _port_faults(tree, file, traffic)


def _words(length_ps: int) -> str:
    return f"{length_ps / SECOND:g} s"


def _pace_faults(tree: Tree, path: KeyPath, flow: Traffic, streams: int, length_ps: int) -> Iterator[Fault]:
    """Arrivals against the length of a run: those of all streams together, and what each is made of."""
    run = _words(length_ps)
    pace = flow.pace
    if pace is None:
        return
    if pace.instants is not None and pace.instants[0] >= length_ps:
        key_path, last = (*path, "arrivals", "file"), f"instants below {run}"
        yield tree.fault(key_path, f"holds no instant within a run of {run}", last)
    rate, key, unit, each = pace.rate, pace.key, pace.unit, pace.burst
    if not rate:
        return  # recorded instants
    least = max(SECOND / (length_ps * streams), 1 / LONGEST)
    if rate < least * (1 - 1e-12):
        allowed = f"from {least * each:.6g} {unit} on" if key == "rate" else f"up to {1 / least:.6g} s"
        yield tree.fault((*path, key), f"makes nothing in a run of {run}", allowed)
    elif rate > _FASTEST:
        yield tree.fault((*path, key), "is more than one in a picosecond", f"up to {_FASTEST * each:g} {unit}")


def _delay_faults(tree: Tree, path: KeyPath, flow: Connected, vms: int, length_ps: int) -> Iterator[Fault]:
    """Times that peers and users wait, against the length of a run."""
    run = _words(length_ps)
    if flow.delay >= length_ps:
        yield tree.fault((*path, "delay"), "lets nothing arrive in a run", f"below {run}, the length of a run")
    if flow.pause and flow.pause > length_ps * flow.connections * vms:
        most = f"up to {_words(length_ps * flow.connections * vms)}: a request in a run, of all users together"
        yield tree.fault((*path, "think_time"), f"makes no request in a run of {run}", most)


def _port_faults(tree: Tree, file: PointFile, traffic: Mapping[str, Traffic]) -> Iterator[Fault]:
    """Connections of one VM that nothing tells apart: to the same server's port, from the same port of the peer."""
    taken: dict[tuple[str, int, int], list[tuple[str, range]]] = {}
    for name, flow in traffic.items():
        if not isinstance(flow, Connected):
            continue
        ports = range(flow.port, flow.port + flow.ports)
        for group in flow.to:
            if not file.vms[group].count:
                continue
            others = taken.setdefault((group, flow.vnic, flow.server_port), [])
            clash = next(
                (other for other in others if other[1].start < ports.stop and ports.start < other[1].stop), None
            )
            others.append((name, ports))
            if clash is not None:
                message = f"has ports that connections of {clash[0]} have at the same VMs, {group}"
                free = f"from {max(other.stop for _, other in others[:-1])} on"
                yield tree.fault(("traffic", name, "port"), message, free, given=str(flow.port))
                break

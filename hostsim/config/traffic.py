"""Kinds of traffic: the base classes of their specs, with the properties that other modules need."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import model_validator

from hostsim.config.arrival import LEAST_IN_SEGMENT, ArrivalKeys
from hostsim.config.field import Spec
from hostsim.units import SECOND

if TYPE_CHECKING:
    from hostsim.config.arrival import ArrivalSpec, ServiceSpec
    from hostsim.config.guest import ApplicationCosts

__all__ = ["Connected", "Pace", "Paced", "Sourced", "Traffic", "kind_of", "require_arrivals_in_segments"]


class Pace(NamedTuple):
    """The pace of open-loop traffic: the arrivals in each of its streams."""

    rate: float
    """Arrivals/s; 0 for replayed arrivals."""
    key: str = "rate"
    """Field of the spec with the pace."""
    unit: str = "pps"
    """Unit of that field's value."""
    burst: int = 1
    """Number of units in each arrival."""
    instants: tuple[int, ...] | None = None
    """Replayed times in picoseconds."""


class Traffic(Spec):
    """Base of the spec of a kind of traffic.

    A subclass declares ``kind``, a literal with one name, and ``to``.
    """

    if (
        TYPE_CHECKING
    ):  # a field of the base would be the first field of all kinds, and would change the hash of every point
        kind: str
        to: tuple[str, ...]
        service: ServiceSpec | None

    closed_loop: ClassVar[bool] = False
    """True for closed-loop traffic: a peer outside waits for packets of the host."""
    has_answers: ClassVar[bool] = False
    """True if clients wait for answers, so that response times are measured."""

    @property
    def receives(self) -> bool:
        """True if VMs receive data over TCP in full segments."""
        return False

    @property
    def application(self) -> tuple[str, str]:
        """Guest cost that is the default of ``service``: its name and unit; empty without an application."""
        return "", ""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all VM groups in the traffic."""
        return self.to

    @property
    def own_service(self) -> ServiceSpec | None:
        """Service time of the scenario; None if the guest's cost applies."""
        return getattr(self, "service", None)

    @property
    def pace(self) -> Pace | None:
        """The pace of each stream; None for closed-loop traffic."""
        return None

    @property
    def is_stationary(self) -> bool:
        """True if the load does not depend on the time of the run.

        Then a run has a warm-up and a steady state.
        """
        return True

    def stream_count(self, vms: int) -> int:
        """Return the number of streams.

        Args:
            vms: number of receiving VMs.
        """
        return vms


def require_arrivals_in_segments(arrivals: ArrivalKeys, rate: float | None) -> None:
    """Check that the rate does not change much more often than packets arrive.

    Args:
        arrivals: the process.
        rate: arrivals/s of a process without its own rates.

    Raises:
        ValueError: the rate changes too often.
    """
    segment, mean = arrivals.segment_ps, arrivals.own_rate or rate
    if segment is not None and mean and mean * segment < LEAST_IN_SEGMENT * SECOND:
        least = LEAST_IN_SEGMENT / mean
        raise ValueError(
            "changes its rate a thousand times between two arrivals|"
            f"times of at least {least:.3g} s for which a rate holds, on average"
        )


class Paced(Traffic):
    """Traffic of open-loop senders: at a ``rate``, or at the replayed times of its ``arrivals``."""

    if TYPE_CHECKING:
        rate: float | None
        arrivals: ArrivalSpec

    unit: ClassVar[Literal["pps", "/s"]] = "pps"
    """Unit of its rate."""

    @model_validator(mode="after")
    def _rate_or_replay(self) -> Self:
        replays = self.arrivals.process == "replay"
        if replays and self.rate is not None:
            raise ValueError("has a rate and replayed times|one of rate, arrivals: {process: replay, file: a path}")
        has_rates = self.arrivals.has_rates
        if has_rates and self.rate is not None:
            raise ValueError("has a rate and phases with their own rates|one of rate, arrivals with phases")
        if not replays and not has_rates and self.rate is None:
            unit = "pps, kpps or Mpps" if self.unit == "pps" else self.unit
            raise ValueError(f"has no rate|rate: a number and {unit}")
        require_arrivals_in_segments(self.arrivals, self.rate)
        return self

    @property
    def pace(self) -> Pace:
        """The pace of each stream; for phases with their mean rate."""
        own = self.arrivals.own_rate
        if own is not None:
            return Pace(own, "arrivals", unit=self.unit)
        return Pace(self.rate or 0.0, unit=self.unit, instants=self.arrivals.timestamps_ps)

    @property
    def is_stationary(self) -> bool:
        """False if the rate depends on the time of the run."""
        return self.arrivals.is_stationary


class Connected(Traffic):
    """Traffic over TCP connections between VMs and a peer outside the host."""

    if TYPE_CHECKING:
        vnic: int
        delay: int
        port: int

        @property
        def connections(self) -> int:
            """Number of connections of each VM."""

    closed_loop = True
    server_port: ClassVar[int]
    """Port of the server."""
    has_stages: ClassVar[bool] = False
    """True if the stages of each round trip are measured."""

    @property
    def ports(self) -> int:
        """Number of the peer's ports, from ``port`` on."""
        return self.connections

    @property
    def pause(self) -> int:
        """Mean think time of a user before a request, in picoseconds; 0 for a kind without."""
        return int(getattr(self, "think_time", 0))

    @property
    def request(self) -> int:
        """Bytes of data of a request; 0 for a kind without."""
        return int(getattr(self, "request_size", 0))

    def memory_stall(self, costs: ApplicationCosts) -> float:
        """Return the share of a request's service demand that waits for local memory.

        Args:
            costs: costs of the guest's applications.
        """
        return 0.0

    def demand_ps(self, costs: ApplicationCosts, hertz: float) -> int:
        """Return the service demand of a request in picoseconds.

        Args:
            costs: costs of the guest's applications.
            hertz: cycles/s.
        """
        return 0


class Sourced(Traffic):
    """Traffic of datagrams from a SimPy process of a plug-in (`hostsim.model.traffic.peer.Peer`)."""

    closed_loop = True


def kind_of(spec: type[Traffic]) -> str:
    """Return the name of a kind of traffic, ``kind`` in a scenario; empty for a class without one."""
    field = spec.model_fields.get("kind")
    names = get_args(field.annotation) if field is not None else ()
    return names[0] if len(names) == 1 and isinstance(names[0], str) else ""

"""Kinds of traffic: the base class of their specs, and what each says of itself so that no other module asks for its class."""

from __future__ import annotations

from collections.abc import Mapping
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
    """The pace of open-loop traffic: how often something arrives in each of its streams."""

    rate: float
    """Arrivals in a second; 0 where instants are replayed."""
    key: str = "rate"
    """Field that says so."""
    unit: str = "pps"
    """Unit of that field's value."""
    burst: int = 1
    """What comes with each arrival, in that unit."""
    instants: tuple[int, ...] | None = None
    """Replayed instants in picoseconds."""


class Traffic(Spec):
    """Base of the spec of a kind of traffic. Its own class declares ``kind``, a literal with one name, and ``to``."""

    if TYPE_CHECKING:  # a field of the base would come first in all kinds, and change the hash of every point
        kind: str
        to: tuple[str, ...]
        service: ServiceSpec | None

    closed_loop: ClassVar[bool] = False
    """Closed-loop traffic: a peer outside waits for what the host sends, so that the host's wires carry what is released to them."""
    later_defaults: ClassVar[Mapping[str, object]] = {}
    """Keys that are newer than stored runs, with their defaults, at which they do not count in the hash of a point."""
    has_answers: ClassVar[bool] = False
    """True where clients wait for answers, whose response times are measured."""

    @property
    def receives(self) -> bool:
        """True where VMs receive data over TCP in full segments."""
        return False

    @property
    def application(self) -> tuple[str, str]:
        """What ``service`` is the time of where the scenario has none: the guest's cost, by its name, and one of what, in words; empty without an application."""
        return "", ""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all groups of VMs that take part in it."""
        return self.to

    @property
    def own_service(self) -> ServiceSpec | None:
        """The service time that the scenario names; None where the guest's cost counts."""
        return getattr(self, "service", None)

    @property
    def pace(self) -> Pace | None:
        """The pace of each stream; None of closed-loop traffic."""
        return None

    @property
    def is_stationary(self) -> bool:
        """True where the load does not depend on the time of the run, so that a run has a warm-up and then a steady state."""
        return True

    def stream_count(self, vms: int) -> int:
        """Number of streams that traffic to so many VMs consists of."""
        return vms


def require_arrivals_in_segments(arrivals: ArrivalKeys, rate: float | None) -> None:
    """Check that a rate does not change more often than anything arrives.

    Args:
        arrivals: the process.
        rate: arrivals in a second of a process without rates of its own.

    Raises:
        ValueError: it changes too often.
    """
    segment, mean = arrivals.segment_ps, arrivals.own_rate or rate
    if segment is not None and mean and mean * segment < LEAST_IN_SEGMENT * SECOND:
        least = LEAST_IN_SEGMENT / mean
        raise ValueError(
            "changes its rate a thousand times between two arrivals|"
            f"times of at least {least:.3g} s for which a rate holds, on average"
        )


class Paced(Traffic):
    """Traffic from open-loop senders: at a ``rate``, or at the replayed instants of its ``arrivals``."""

    if TYPE_CHECKING:
        rate: float | None
        arrivals: ArrivalSpec

    unit: ClassVar[Literal["pps", "/s"]] = "pps"
    """Unit of its rate."""

    @model_validator(mode="after")
    def _rate_or_replay(self) -> Self:
        replays = self.arrivals.process == "replay"
        if replays and self.rate is not None:
            raise ValueError(
                "has a rate, and instants to replay|one of rate, arrivals: {process: replay, file: a path}"
            )
        has_rates = self.arrivals.has_rates
        if has_rates and self.rate is not None:
            raise ValueError("has a rate, and phases with rates of their own|one of rate, arrivals with phases")
        if not replays and not has_rates and self.rate is None:
            unit = "pps, kpps or Mpps" if self.unit == "pps" else self.unit
            raise ValueError(f"has no rate|rate: a number and {unit}")
        require_arrivals_in_segments(self.arrivals, self.rate)
        return self

    @property
    def pace(self) -> Pace:
        """The pace of each stream; of phases their mean rate."""
        own = self.arrivals.own_rate
        if own is not None:
            return Pace(own, "arrivals", unit=self.unit)
        return Pace(self.rate or 0.0, unit=self.unit, instants=self.arrivals.timestamps_ps)

    @property
    def is_stationary(self) -> bool:
        """False where the rate depends on the time of the run."""
        return self.arrivals.is_stationary


class Connected(Traffic):
    """Traffic over TCP connections between VMs and a peer outside the host."""

    if TYPE_CHECKING:
        vnic: int
        delay: int
        port: int

        @property
        def connections(self) -> int:
            """Connections of each VM."""

    closed_loop = True
    server_port: ClassVar[int]
    """Port of the server."""
    has_stages: ClassVar[bool] = False
    """True where the stages of each round trip are measured."""

    @property
    def ports(self) -> int:
        """Number of the peer's ports that it takes, from ``port`` on."""
        return self.connections

    @property
    def pause(self) -> int:
        """Mean think time of a user before a request, in picoseconds."""
        return 0

    @property
    def request(self) -> int:
        """Bytes of data of a request."""
        return 0

    def memory_stall(self, costs: ApplicationCosts) -> float:
        """Return the share of a request's service demand that waits for memory where all of that is near.

        Args:
            costs: those of the guest's applications.
        """
        return 0.0

    def demand_ps(self, costs: ApplicationCosts, hertz: float) -> int:
        """Return the service demand of a request in picoseconds.

        Args:
            costs: those of the guest's applications.
            hertz: cycles in a second.
        """
        return 0


class Sourced(Traffic):
    """Traffic whose datagrams a SimPy process of one's own sends, through a `hostsim.model.traffic.peer.Peer`."""

    closed_loop = True


def kind_of(spec: type[Traffic]) -> str:
    """The name of a kind of traffic, as ``kind`` gives it in a scenario; empty where its class declares none."""
    field = spec.model_fields.get("kind")
    names = get_args(field.annotation) if field is not None else ()
    return names[0] if len(names) == 1 and isinstance(names[0], str) else ""

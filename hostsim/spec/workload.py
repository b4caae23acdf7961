"""Traffic that comes at the host."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from hostsim.spec.base import Spec
from hostsim.spec.quantity import Duration, Rate, Size

__all__ = ["ArrivalSpec", "MulticastSpec", "Names", "ServiceSpec", "TrafficSpec", "WorkSpec"]

Names = Annotated[tuple[str, ...], Field(min_length=1)]


class ArrivalSpec(Spec):
    """The instants at which an open-loop sender puts packets on the wire."""

    process: Literal["constant", "poisson", "gamma", "replay"] = "constant"
    """``constant``: fixed interval. ``poisson``: exponential gaps. ``gamma``: gaps with the given ``cv``. ``replay``: timestamps from ``file``."""
    cv: Annotated[float, Field(gt=0)] | None = None
    """Coefficient of variation of the gaps, for ``gamma`` only."""
    timestamps_ps: tuple[int, ...] | None = None
    """For ``replay`` only: ascending instants in picoseconds. In a file: ``file: path`` to a text file of seconds, one a line."""

    @model_validator(mode="after")
    def _fitting(self) -> ArrivalSpec:
        if (self.cv is not None) != (self.process == "gamma"):
            raise ValueError("cv goes with process: gamma, and only with it|process: gamma, cv: a number above 0")
        if (self.timestamps_ps is not None) != (self.process == "replay"):
            raise ValueError("file goes with process: replay, and only with it|process: replay, file: a path")
        return self


class MulticastSpec(Spec):
    """One sender's stream of datagrams to a multicast group; every VM of ``to`` has joined it."""

    kind: Literal["multicast"]
    to: Names
    """Names of the VM groups that receive; one name may stand without a list."""
    packet_size: Size
    """Bytes of data in a datagram."""
    rate: Rate | None = None
    """Datagrams in a second; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec()

    @model_validator(mode="after")
    def _rate_or_replay(self) -> MulticastSpec:
        if (self.rate is None) != (self.arrivals.process == "replay"):
            raise ValueError("rate goes with every process but replay|rate: a number and pps, kpps or Mpps")
        return self


class ServiceSpec(Spec):
    """How long a burst of work lasts on a PCPU of its own."""

    distribution: Literal["constant", "exponential", "gamma"] = "exponential"
    """``gamma`` has the given ``cv``."""
    mean: Annotated[Duration, Field(gt=0)]
    """Mean length."""
    cv: Annotated[float, Field(gt=0)] | None = None
    """Coefficient of variation, for ``gamma`` only."""

    @model_validator(mode="after")
    def _fitting(self) -> ServiceSpec:
        if (self.cv is not None) != (self.distribution == "gamma"):
            raise ValueError(
                "cv goes with distribution: gamma, and only with it|distribution: gamma, cv: a number above 0"
            )
        return self


class WorkSpec(Spec):
    """Bursts of CPU that come at a guest: background load, and the queues of theory. No packet is involved."""

    kind: Literal["work"]
    to: Names
    """Names of the VM groups that work; each VM has a stream of its own. One name may stand without a list."""
    rate: Rate | None = None
    """Arrivals in a second at each VM; not with ``process: replay``."""
    arrivals: ArrivalSpec = ArrivalSpec()
    service: ServiceSpec
    batch: Annotated[int, Field(ge=1, le=4096)] = 1
    """Bursts that come together at each arrival."""
    together: Annotated[int, Field(ge=1, le=4096)] = 1
    """Most bursts that are served as one, in the time of one."""
    waiting: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000_000
    """Bursts that may wait in a VM, the one in service not counted; one that comes on top is dropped."""

    @model_validator(mode="after")
    def _rate_or_replay(self) -> WorkSpec:
        if (self.rate is None) != (self.arrivals.process == "replay"):
            raise ValueError("rate goes with every process but replay|rate: a number and /s")
        return self


TrafficSpec: TypeAlias = Annotated[MulticastSpec | WorkSpec, Field(discriminator="kind")]
"""Any kind of traffic."""

"""Traffic that comes at the host."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hostsim.spec.base import Spec
from hostsim.spec.quantity import Rate, Size

__all__ = ["ArrivalSpec", "MulticastSpec", "Names"]

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

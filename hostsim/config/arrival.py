"""Arrival processes and service times: when something comes, and how long it takes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hostsim.config.field import Spec
from hostsim.config.quantity import PositiveDuration

__all__ = ["MOST_CV", "ArrivalSpec", "ServiceSpec"]

MOST_CV = 1000
"""Greatest coefficient of variation: with more nearly all gaps round to nothing, and a single instant holds arrivals without end."""


class ArrivalSpec(Spec):
    """The arrival process of an open-loop sender: the instants at which it puts packets on the wire."""

    process: Literal["constant", "poisson", "gamma", "replay"] = "constant"
    """``constant``: fixed interval. ``poisson``: exponential gaps. ``gamma``: gaps with the given ``cv``. ``replay``: timestamps from ``file``."""
    cv: Annotated[float, Field(gt=0, le=MOST_CV)] | None = None
    """Coefficient of variation of the gaps, for ``gamma`` only."""
    timestamps_ps: tuple[int, ...] | None = None
    """For ``replay`` only: ascending instants in picoseconds. In a file: ``file: path`` to a text file of seconds, one a line."""

    @model_validator(mode="after")
    def _fitting(self) -> ArrivalSpec:
        if (self.cv is not None) != (self.process == "gamma"):
            raise ValueError("cv and process: gamma need each other|process: gamma, cv: a number above 0")
        if (self.timestamps_ps is not None) != (self.process == "replay"):
            raise ValueError("file and process: replay need each other|process: replay, file: a path")
        return self


class ServiceSpec(Spec):
    """Service time of a burst of CPU work, on a PCPU without competition."""

    distribution: Literal["constant", "exponential", "gamma"] = "exponential"
    """``gamma`` has the given ``cv``."""
    mean: PositiveDuration
    """Mean length."""
    cv: Annotated[float, Field(gt=0, le=MOST_CV)] | None = None
    """Coefficient of variation, for ``gamma`` only."""

    @model_validator(mode="after")
    def _fitting(self) -> ServiceSpec:
        if (self.cv is not None) != (self.distribution == "gamma"):
            raise ValueError("cv and distribution: gamma need each other|distribution: gamma, cv: a number above 0")
        return self

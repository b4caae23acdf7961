"""Arrival processes and service times: when something comes, and how long it takes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, model_validator
from pydantic_core import CoreSchema, core_schema

from hostsim.config.costs import MOST_CYCLES
from hostsim.config.field import Spec
from hostsim.config.quantity import PositiveDuration
from hostsim.units import SECOND

__all__ = ["MOST_CV", "ArrivalSpec", "Service", "ServiceSpec"]

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
    """Service time of a request or of a burst of CPU work, on a PCPU without competition.

    A time alone, ``service: 200 us``, is constant; a list of times, ``service: [90 us, 110 us, 2 ms]``, is empirical.
    """

    distribution: Literal["constant", "exponential", "gamma", "lognormal", "empirical"] = "exponential"
    """``gamma`` and ``lognormal`` have the given ``cv``; ``empirical`` draws from ``values``."""
    mean: PositiveDuration | None = None
    """Mean length on this host's own processor; or ``cycles``, or ``values``."""
    cv: Annotated[float, Field(gt=0, le=MOST_CV)] | None = None
    """Coefficient of variation, for ``gamma`` and ``lognormal`` only."""
    cycles: Annotated[float, Field(gt=0, le=MOST_CYCLES)] | None = None
    """Mean length in Westmere-equivalent cycles, as the costs of guest files have it: the time then follows from the processor."""
    values: Annotated[tuple[PositiveDuration, ...], Field(min_length=1, max_length=10_000)] | None = None
    """For ``empirical`` only: measured lengths, each as likely as any other."""

    @model_validator(mode="after")
    def _fitting(self) -> ServiceSpec:
        if (self.cv is not None) != (self.distribution in ("gamma", "lognormal")):
            raise ValueError(
                "cv and distribution: gamma or lognormal need each other|"
                "distribution: gamma or lognormal, cv: a number above 0"
            )
        if (self.values is not None) != (self.distribution == "empirical"):
            raise ValueError(
                "values and distribution: empirical need each other|distribution: empirical, values: a list of times"
            )
        if (self.mean is not None) + (self.cycles is not None) + (self.values is not None) != 1:
            raise ValueError("needs exactly one length|one of mean, cycles; or distribution: empirical with values")
        return self

    def mean_ps(self, hertz: float) -> float:
        """Mean length in picoseconds.

        Args:
            hertz: Westmere-equivalent cycles in a second.
        """
        if self.values is not None:
            return sum(self.values) / len(self.values)
        return float(self.mean) if self.mean is not None else (self.cycles or 0.0) * SECOND / hertz

    @property
    def is_constant(self) -> bool:
        """True where each length is the same."""
        return self.distribution == "constant"


class _Short:
    """A service time may be written as a time alone, or as a list of times."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._long, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        time = TypeAdapter(PositiveDuration).json_schema()
        told = (
            f"a number and a unit of duration, a list of these, or a mapping with {', '.join(ServiceSpec.model_fields)}"
        )
        listed = {"type": "array", "items": time, "minItems": 1}
        return {"anyOf": [time, listed, handler(schema)], "x-allowed": told}

    def _long(self, value: Any) -> Any:
        if isinstance(value, str):
            return {"distribution": "constant", "mean": value}
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise ValueError("has no unit|a number and a unit of duration, a list of these, or a mapping")
        return {"distribution": "empirical", "values": tuple(value)} if isinstance(value, tuple | list) else value


Service = Annotated[ServiceSpec, _Short()]
"""A service time as a scenario writes it: a time, a list of times, or a mapping."""

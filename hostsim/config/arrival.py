"""Specs of arrival processes and service times."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, model_validator
from pydantic_core import CoreSchema, core_schema

from hostsim.config.costs import MOST_CYCLES
from hostsim.config.field import Spec, later
from hostsim.config.quantity import AnyRate, PositiveDuration
from hostsim.units import SECOND

__all__ = [
    "LEAST_IN_SEGMENT",
    "MOST_CV",
    "MOST_PHASES",
    "ArrivalKeys",
    "ArrivalSpec",
    "Phase",
    "Service",
    "ServiceSpec",
]

MOST_CV = 1000
"""Largest coefficient of variation. Beyond it nearly all gaps round to 0, so that one instant has an unlimited number
of arrivals.
"""

LEAST_IN_SEGMENT = 1e-3
"""Smallest mean number of arrivals between two changes of a rate. Below it a run would consist of changes of the
rate.
"""
MOST_PHASES = 10_000
"""Largest number of phases of a profile, and of lines of its file."""


class Phase(Spec):
    """A phase of a load: a rate and its duration."""

    rate: AnyRate
    """Arrivals/s, as a Poisson process; 0 for none."""
    length: PositiveDuration
    """Length of the phase; for a state of ``mmpp`` the mean of an exponential distribution."""


class ArrivalKeys(Spec):
    """Keys of an arrival process in both scenarios and points."""

    process: Literal["constant", "poisson", "gamma", "replay", "on_off", "mmpp", "profile"] = "constant"
    """``constant``: fixed interval. ``poisson``: exponential gaps. ``gamma``: gaps with the given ``cv``. ``replay``:
    instants from ``file``. ``on_off``: Poisson for a random time, then no arrivals for a random time; ``rate`` is the
    mean over both. ``mmpp``: Poisson at the rate of one of the ``phases``, which change at random. ``profile``: Poisson
    at the rate of each of the ``phases`` in turn, or of those in ``file``, in a cycle.
    """
    cv: Annotated[float, Field(gt=0, le=MOST_CV)] | None = None
    """Coefficient of variation of the gaps, for ``gamma`` only."""
    on: PositiveDuration | None = later(None)
    """For ``on_off`` only: mean time with arrivals; exponentially distributed."""
    off: PositiveDuration | None = later(None)
    """For ``on_off`` only: mean time without arrivals; exponentially distributed."""
    phases: Annotated[tuple[Phase, ...], Field(min_length=2, max_length=MOST_PHASES)] | None = later(None)
    """For ``profile``: the phases in sequence, ``[{rate: 20 kpps, length: 5 ms}, ...]``, in place of ``file``. For
    ``mmpp``: the states, each followed by any of the others with equal probability.
    """
    period: PositiveDuration | None = later(None)
    """For ``profile`` only: time of one cycle of all phases, whose lengths are scaled to it; default: the sum of their
    lengths.
    """

    @property
    def has_rates(self) -> bool:
        """True if the process has its own rates, so that its traffic has no ``rate``."""
        return self.process in ("mmpp", "profile")

    @property
    def own_rate(self) -> float | None:
        """Mean arrivals/s of the phases; None for other processes."""
        if self.phases is None:
            return None
        return sum(phase.rate * phase.length for phase in self.phases) / sum(phase.length for phase in self.phases)

    @property
    def segment_ps(self) -> float | None:
        """Mean time between two changes of the rate, in picoseconds; None if it never changes."""
        if self.on is not None and self.off is not None:
            return (self.on + self.off) / 2
        if self.phases is None:
            return None
        return (self.period or sum(phase.length for phase in self.phases)) / len(self.phases)

    @property
    def is_stationary(self) -> bool:
        """False for a profile, whose rate depends on the time of the run."""
        return self.process != "profile"


class ArrivalSpec(ArrivalKeys):
    """The arrival process of an open-loop sender: the times at which it puts packets on the wire."""

    timestamps_ps: tuple[int, ...] | None = None
    """For ``replay`` only: ascending times in picoseconds. In a file: ``file: path`` to a text file with a time in
    seconds on each line.
    """

    @model_validator(mode="after")
    def _fitting(self) -> ArrivalSpec:
        if (self.cv is not None) != (self.process == "gamma"):
            raise ValueError("cv and process: gamma need each other|process: gamma, cv: a number above 0")
        if (self.timestamps_ps is not None) != (self.process == "replay"):
            raise ValueError("file and process: replay need each other|process: replay, file: a path")
        is_on_off = self.process == "on_off"
        if (self.on is not None) != is_on_off or (self.off is not None) != is_on_off:
            raise ValueError("on, off and process: on_off need each other|process: on_off, on: a time, off: a time")
        if (self.phases is not None) != self.has_rates:
            raise ValueError(
                "phases and process: mmpp or profile need each other|"
                "process: mmpp or profile, phases: a list of rates and lengths; or process: profile, file: a path"
            )
        if self.period is not None and self.process != "profile":
            raise ValueError("has a period without a profile|process: profile; or no period")
        if self.phases is not None and not any(phase.rate for phase in self.phases):
            raise ValueError("has no rate above 0 in any phase|phases: at least one rate above 0")
        return self


class ServiceSpec(Spec):
    """Service time of a request or of a burst of CPU work, on a PCPU without competition.

    A time alone, ``service: 200 us``, is constant; a list of times, ``service: [90 us, 110 us, 2 ms]``, is empirical.
    """

    distribution: Literal["constant", "exponential", "gamma", "lognormal", "empirical"] = "exponential"
    """``gamma`` and ``lognormal`` have the given ``cv``; ``empirical`` draws from ``values``."""
    mean: PositiveDuration | None = None
    """Mean length on this host's processor; or ``cycles``, or ``values``."""
    cv: Annotated[float, Field(gt=0, le=MOST_CV)] | None = None
    """Coefficient of variation, for ``gamma`` and ``lognormal`` only."""
    cycles: Annotated[float, Field(gt=0, le=MOST_CYCLES)] | None = None
    """Mean length in Westmere-equivalent cycles, like the costs in guest files; the time follows from the processor."""
    values: Annotated[tuple[PositiveDuration, ...], Field(min_length=1, max_length=10_000)] | None = None
    """For ``empirical`` only: measured lengths with equal probability."""

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
            hertz: Westmere-equivalent cycles/s.
        """
        if self.values is not None:
            return sum(self.values) / len(self.values)
        return float(self.mean) if self.mean is not None else (self.cycles or 0.0) * SECOND / hertz

    @property
    def is_constant(self) -> bool:
        """True if all lengths are equal."""
        return self.distribution == "constant"


class _Short:
    """Validator of the short forms of a service time: a time, or a list of times."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._long, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        time = TypeAdapter(PositiveDuration).json_schema()
        allowed = (
            f"a number and a unit of duration, a list of these, or a mapping with {', '.join(ServiceSpec.model_fields)}"
        )
        listed = {"type": "array", "items": time, "minItems": 1}
        return {"anyOf": [time, listed, handler(schema)], "x-allowed": allowed}

    def _long(self, value: Any) -> Any:
        if isinstance(value, str):
            return {"distribution": "constant", "mean": value}
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise ValueError("has no unit|a number and a unit of duration, a list of these, or a mapping")
        return {"distribution": "empirical", "values": tuple(value)} if isinstance(value, tuple | list) else value


Service = Annotated[ServiceSpec, _Short()]
"""A service time as written in a scenario: a time, a list of times, or a mapping."""

"""Run options: a model whose fields are keyword arguments of the Python interface and options of commands."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from typer.models import OptionInfo

from hostsim.errors import Fault, InputError, is_integer, nearest_name
from hostsim.scenario.plan import Fidelity
from hostsim.units import MOST_REPLICATIONS, MOST_SEED

if TYPE_CHECKING:
    from hostsim.campaign.ensemble import Ensemble
    from hostsim.campaign.pipeline import ExecutionOptions, ProgressListener

__all__ = [
    "OPTIONS",
    "RESULTS",
    "SHIPPED",
    "RunOptions",
    "quantity",
    "run_options",
]

SHIPPED = "shipped"
"""Value of ``--ensemble`` without a file."""
RESULTS = "results"
"""Default results folder, below the working directory."""

LENGTH = "How long and how often"
"""Panel of the options from which `RunOptions.fidelity` is made; a calibration refuses them, except for the seed."""
PLACE = "Where runs are made and stored"
"""Panel of the options from which `RunOptions.execution` is made."""


def _amount(kind: str) -> BeforeValidator:
    """Reads the text of a quantity; a number is unchanged."""

    def read(value: Any) -> Any:
        from hostsim.config.quantity import read_quantity

        if not isinstance(value, str):
            return value
        amount = read_quantity(value, kind)
        return round(amount) if kind == "size" else amount

    return BeforeValidator(read)


def _ensemble(value: Any) -> Any:
    return SHIPPED if value is True else None if value is False else str(value) if isinstance(value, Path) else value


def _plugins(value: Any) -> Any:
    return [str(plugin) for plugin in value] if isinstance(value, list | tuple) else value or []


# no lazy annotations in this module, because typer reads them
class RunOptions(BaseModel):
    """Run options with their defaults. The panel of an option is its section in the help of commands.

    Quantities are text with a unit or numbers in seconds or bytes. ``ensemble`` may be True for the shipped one.

    Raises:
        InputError: a value is none that the option takes; carries every fault.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Short runs and few replications, as set in the scenario.", rich_help_panel=LENGTH
        ),
    ] = False
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            min=0,
            max=MOST_SEED,
            help="Root seed of all random streams.",
            rich_help_panel=LENGTH,
        ),
    ] = 1
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            metavar="N",
            min=1,
            max=MOST_REPLICATIONS,
            help="Number of runs of each point, in place of the scenario's.",
            rich_help_panel=LENGTH,
        ),
    ] = None
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="Use full runs everywhere: full-length probes in independent searches, no run.swept, the scenario's number of replications, and runs of twice the length if their warm-up is too long.",
            rich_help_panel=LENGTH,
        ),
    ] = False
    max_processor_time: Annotated[
        float | None,
        _amount("duration"),
        typer.Option(
            "--max-processor-time",
            metavar="TIME",
            parser=str,
            help="Limit of processor time for the runs of a claim, such as '10 min'; beyond it, an undecided claim gets no more replications.",
            rich_help_panel=LENGTH,
        ),
    ] = None
    ensemble: Annotated[
        str | None,
        BeforeValidator(_ensemble),
        typer.Option(
            "--ensemble",
            metavar="[FILE.csv]",
            help="Prediction intervals: each replication simulates another member of an ensemble of hosts, the shipped one or that of a CSV file; no runs are added.",
            rich_help_panel=LENGTH,
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            min=1,
            help="Number of worker processes; by default one per processor, or none if little work remains; 1 runs in this process.",
            rich_help_panel=PLACE,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Address of a Dask scheduler to run on instead; 'local' starts a cluster on this machine.",
            rich_help_panel=PLACE,
        ),
    ] = None
    results: Annotated[
        Path,
        typer.Option(
            "--results",
            metavar="DIR",
            help="Folder in which all commands store their runs.",
            rich_help_panel=PLACE,
        ),
    ] = Path(RESULTS)
    max_memory: Annotated[
        float | None,
        _amount("size"),
        typer.Option(
            "--max-memory",
            metavar="SIZE",
            parser=str,
            help="Memory limit of a run, such as '2 GB'; a run beyond it fails.",
            rich_help_panel=PLACE,
        ),
    ] = None
    max_time: Annotated[
        float | None,
        _amount("duration"),
        typer.Option(
            "--max-time",
            metavar="TIME",
            parser=str,
            help="Time limit of a run, such as '10 min'; a run beyond it fails.",
            rich_help_panel=PLACE,
        ),
    ] = None
    plugins: Annotated[
        list[str],
        BeforeValidator(_plugins),
        typer.Option(
            "--plugin",
            metavar="FILE",
            help="Your plug-in: the path of a Python file, or the name of an installed one. Repeatable.",
        ),
    ] = []

    def fidelity(self) -> Fidelity:
        """Lengths and numbers of runs.

        Raises:
            InputError: a limit is not a time above 0; an ensemble cannot be read, or has too few members for the replications.
        """
        most = self.max_processor_time
        if most is not None and not most > 0:
            raise InputError(Fault("is not a limit", "--max-processor-time", f"{most:g} s", "a time above 0"))
        return Fidelity(self.quick, self.seed, self.replications, self.thorough, most, self._members())

    def execution(self, progress: "ProgressListener | None" = None) -> "ExecutionOptions":
        """The store, workers and limits of runs.

        Raises:
            InputError: a limit cannot be enforced.
        """
        from hostsim.campaign.pipeline import ExecutionOptions
        from hostsim.campaign.store import Store
        from hostsim.campaign.task import resource_limits

        limits = resource_limits(self.max_memory, self.max_time)
        return ExecutionOptions(Store(self.results), self.jobs, self.cluster, progress, limits)

    def _members(self) -> "Ensemble | None":
        from hostsim.campaign.ensemble import read_ensemble
        from hostsim.scenario.shipped_data import shipped_ensemble

        if self.ensemble is None:
            return None
        shipped = self.ensemble == SHIPPED
        ensemble = (
            replace(read_ensemble(shipped_ensemble()), name=SHIPPED) if shipped else read_ensemble(Path(self.ensemble))
        )
        ensemble.require_members(self.replications or 1)
        return ensemble

    @field_validator("*", mode="before")
    @classmethod
    def _within_bounds(cls, value: Any, info: ValidationInfo) -> Any:
        """An integer within its bounds, as a Python int."""
        name = str(info.field_name)
        least, most = OPTIONS[name].min, OPTIONS[name].max
        if (least is None and most is None) or value is cls.model_fields[name].default:
            return value
        if is_integer(value) and (least is None or least <= value) and (most is None or value <= most):
            return int(value)
        ends = [f"{word} {end}" for word, end in (("from", least), ("to", most)) if end is not None]
        raise ValueError(f"is out of range|an integer {' '.join(ends)}")

    @model_validator(mode="wrap")
    @classmethod
    def _faults(cls, data: Any, handler: ModelWrapValidatorHandler["RunOptions"]) -> "RunOptions":
        try:
            return handler(data)
        except ValidationError as error:
            raise InputError(map(_fault, error.errors())) from None


OPTIONS: Mapping[str, OptionInfo] = {
    name: next(entry for entry in field.metadata if isinstance(entry, OptionInfo))
    for name, field in RunOptions.model_fields.items()
}
"""Every run option by its name, as a command takes it."""


def _fault(error: ErrorDetails) -> Fault:
    """The fault of an option; a `ValueError` of hostsim has the allowed values after a bar."""
    message, _, allowed = str(error.get("ctx", {}).get("error", error["msg"])).partition("|")
    return Fault(message, f"--{error['loc'][0]}".replace("_", "-"), repr(error["input"]), allowed)


def run_options(
    function: Callable[..., object],
    options: RunOptions | None,
    keywords: Mapping[str, Any],
    offered: Collection[str] = OPTIONS.keys(),
) -> RunOptions:
    """The options of a call to a function of the Python interface.

    Args:
        function: the function.
        options: options in one object.
        keywords: single options, which have priority.
        offered: names that the function takes.

    Raises:
        InputError: a value is none that the option takes; carries every fault.
        TypeError: an unknown name; with the nearest one.
    """
    chosen = (options.model_dump(exclude_unset=True) if options is not None else {}) | dict(keywords)
    for name in chosen.keys() - offered:
        nearest = nearest_name(name, [*offered, *inspect.signature(function).parameters])
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")
    return RunOptions(**chosen)


def quantity(text: str, kind: str, option: str) -> float:
    """The number in the text of an option, in the base unit of its kind: ``2 GB`` is 2e9 bytes.

    Raises:
        InputError: it is not such a quantity, or below 0.
    """
    from hostsim.config.quantity import read_quantity

    try:
        amount = read_quantity(text, kind)
    except ValueError as error:
        message, _, allowed = str(error).partition("|")
        raise InputError(Fault(message, option, repr(text), allowed)) from None
    if amount < 0:
        raise InputError(Fault("is negative", option, repr(text), f"a {kind} from 0"))
    return amount

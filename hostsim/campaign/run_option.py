"""Run options, declared once for the Python interface and the command line: documentation, type, default and bounds of each."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypedDict, TypeVar

from hostsim.errors import Fault, InputError, is_integer, nearest_name
from hostsim.scenario.plan import MOST_REPLICATIONS, MOST_SEED

if TYPE_CHECKING:
    from hostsim.campaign.ensemble import Ensemble
    from hostsim.campaign.pipeline import ProgressListener

__all__ = [
    "OPTIONS",
    "RESULTS",
    "SHIPPED",
    "Option",
    "RunOptions",
    "quantity",
    "settle",
    "takes_options",
    "with_signature",
]

SHIPPED = "shipped"
"""Value of ``--ensemble`` without a file."""
P = ParamSpec("P")
T = TypeVar("T")

RESULTS = "results"
"""Results folder by default: below the working directory."""
_RAISES = """

Raises:
    InputError: an argument cannot be used; carries every fault.
    StoreError: the results folder cannot be used.
    KeyboardInterrupt: Ctrl-C; everything finished is in the results folder."""


@dataclass(frozen=True)
class Option:
    """Documentation, default and bounds of a run option."""

    help: str
    default: bool | int | str | None = None
    metavar: str | None = None
    """Name of the value on the command line; None for a flag."""
    least: int | None = None
    most: int | None = None
    """Largest value of an integer; None for one that is checked where it is used."""
    unit: str = ""
    """Unit of a number where Python takes one beside the text of a quantity."""
    flag: str = ""
    """The option on the command line where it is not the name with dashes."""


# no lazy annotations in this module: they are read below
class RunOptions(TypedDict, total=False):
    """Options of everything that runs a sweep; `settle` gives each that is missing its default.

    Where a value may have one of several types, the command line makes the first.
    """

    quick: Annotated[bool, Option("Short runs and few replications, as set in the scenario.", default=False)]
    seed: Annotated[int, Option("Root seed of all random streams.", 1, "N", least=0, most=MOST_SEED)]
    replications: Annotated[
        int | None,
        Option("Runs of each point, instead of the scenario's number.", None, "N", least=1, most=MOST_REPLICATIONS),
    ]
    thorough: Annotated[
        bool,
        Option(
            "Save no simulated time: all probes of searches at full length and each search by itself, no run.swept, as many "
            "replications as the scenario says, a run doubled where its warm-up is too long.",
            default=False,
        ),
    ]
    max_processor_time: Annotated[
        str | float | None,
        Option(
            "Processor time that the runs behind a claim may take, such as '10 min'; one that is undecided then gets no more replications.",
            None,
            "TIME",
            unit="seconds",
        ),
    ]
    ensemble: Annotated[
        str | Path | bool | None,
        Option(
            "Prediction intervals: each replication runs another member of an ensemble of hosts, the shipped one or that of a CSV file; no run is added.",
            None,
            "[FILE.csv]",
        ),
    ]
    jobs: Annotated[
        int | None,
        Option("Number of worker processes; one per processor by default, 1 runs in this process.", None, "N", least=1),
    ]
    cluster: Annotated[
        str | None,
        Option(
            "Address of a Dask scheduler to run on instead; 'local' starts a cluster on this machine.",
            None,
            "ADDRESS",
        ),
    ]
    results: Annotated[Path | str, Option("Folder that stores every run; shared by all commands.", RESULTS, "DIR")]
    max_memory: Annotated[
        str | int | None,
        Option("Memory limit of a run, such as '2 GB'; a run beyond it fails.", None, "SIZE", unit="bytes"),
    ]
    max_time: Annotated[
        str | float | None,
        Option("Time limit of a run, such as '10 min'; a run beyond it fails.", None, "TIME", unit="seconds"),
    ]
    plugins: Annotated[
        list[str] | Sequence[Path | str] | None,
        Option(
            "Your plug-in: the path of a Python file, or the name of an installed one. Repeatable.",
            None,
            "FILE",
            flag="--plugin",
        ),
    ]
    progress: Annotated[
        "ProgressListener | None",
        Option("Called with the scenario's name and its progress after each run; a notebook shows a bar by itself."),
    ]


OPTIONS: Mapping[str, Option] = {name: hint.__metadata__[0] for name, hint in RunOptions.__annotations__.items()}
"""Every run option by its name."""


def settle(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments with every run option: its default where it is not given, and integers within their bounds.

    Raises:
        InputError: an integer is out of its range; carries every fault.
    """
    found: dict[str, Any] = {**{name: option.default for name, option in OPTIONS.items()}, **given}
    faults = []
    for name, option in OPTIONS.items():
        value = found[name]
        if option.least is None or option.most is None or value is option.default:
            continue
        if is_integer(value) and option.least <= value <= option.most:
            found[name] = int(value)  # one of another library becomes Python's
        else:
            allowed = f"an integer from {option.least} to {option.most}"
            faults.append(Fault("is out of range", name, str(value), allowed))
    if faults:
        raise InputError(faults)
    return found


def with_signature(function: Callable[P, T], signature: inspect.Signature) -> Callable[P, T]:
    """Give a function with ``**options`` a signature that names them; it is called with all of them settled.

    A call with another name is a TypeError with the nearest one.
    """

    @functools.wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> T:
        for name in given.keys() - signature.parameters.keys():
            nearest = nearest_name(name, list(signature.parameters))
            hint = f"; did you mean {nearest!r}?" if nearest else ""
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")
        return function(*args, **settle(given))

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def takes_options(*names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator that names run options in the signature of a function of the Python interface.

    In its docstring their list takes the place of the line on ``**options``, the last one, and the errors of a run follow.

    Args:
        names: options to offer, all by default; the function has the others at their defaults.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        plain = inspect.signature(function)
        parameters, lines = list(plain.parameters.values())[:-1], []
        for name in names or OPTIONS:
            option, kind = OPTIONS[name], RunOptions.__annotations__[name].__origin__
            shown = getattr(kind, "__forward_arg__", None) or inspect.formatannotation(kind)
            parameters.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=shown)
            )
            lines.append(f"{name}: {option.help}" + (f" A number is in {option.unit}." if option.unit else ""))
        made = with_signature(function, plain.replace(parameters=parameters))
        made.__doc__ = (
            inspect.cleandoc(function.__doc__ or "").replace("**options: of a run.", "\n    ".join(lines)) + _RAISES
        )
        return made

    return decorate


def ensemble_of(given: str | Path | bool | None, replications: int | None) -> "Ensemble | None":
    """The ensemble of the run option: the shipped one, that of a file, or none.

    Raises:
        InputError: it cannot be read, or has too few members for the replications asked for.
    """
    from hostsim.campaign.ensemble import read_ensemble
    from hostsim.scenario.shipped_data import shipped_ensemble

    if given is None or given is False:
        return None
    if given is True or given == SHIPPED:
        found = replace(read_ensemble(shipped_ensemble()), name=SHIPPED)
    else:
        found = read_ensemble(Path(given))
    found.require_members(replications or 1)
    return found


def quantity(text: str, kind: str, option: str) -> float:
    """The number that the text of an option stands for, in the base unit of its kind: ``2 GB`` is 2e9 bytes.

    Raises:
        InputError: it is no such quantity.
    """
    from hostsim.config.quantity import read_quantity

    try:
        return read_quantity(text, kind)
    except ValueError as error:
        message, _, allowed = str(error).partition("|")
        raise InputError(Fault(message, option, repr(text), allowed)) from None

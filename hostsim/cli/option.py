"""Command-line options that several commands share: the run options as typer takes them, and how the text of an option is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar, get_args

import typer

from hostsim.campaign.run_option import OPTIONS, RunOptions, quantity, with_signature
from hostsim.errors import Fault, InputError

__all__ = [
    "DryRun",
    "Root",
    "RunOptions",
    "ScenarioName",
    "SetAsRun",
    "ShardText",
    "Texts",
    "complete_scenario",
    "complete_shipped",
    "complete_subject",
    "option",
    "pairs",
    "percent",
    "repeated",
    "run_options",
]

P = ParamSpec("P")
T = TypeVar("T")

Texts = list[str] | None
"""Values of a repeatable option; None where it is absent."""


def complete_shipped(incomplete: str) -> list[str]:
    """Names of shipped scenarios, for the completion of a shell."""
    from hostsim.scenario.shipped_data import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


def complete_scenario(incomplete: str) -> list[str]:
    """Names of shipped scenarios, and paths of YAML files and folders, for the completion of a shell."""
    folder, _, start = incomplete.rpartition("/")
    try:
        places = sorted(Path(folder or ("/" if incomplete.startswith("/") else ".")).iterdir())
    except OSError:
        places = []
    prefix = incomplete[: len(incomplete) - len(start)]
    files = [
        f"{prefix}{place.name}{'/' if place.is_dir() else ''}"
        for place in places
        if place.name.startswith(start or "")
        and not place.name.startswith(".")
        and (place.is_dir() or place.suffix in (".yaml", ".yml"))
    ]
    return complete_shipped(incomplete) + files


def complete_subject(incomplete: str) -> list[str]:
    """What `check` takes: scenarios, files, and ids of claims."""
    from hostsim.scenario.shipped_data import claims

    return complete_scenario(incomplete) + [name for name in claims() if name.startswith(incomplete)]


ScenarioName = Annotated[
    str, typer.Argument(help="Name of a shipped scenario, or path of a file.", autocompletion=complete_scenario)
]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="Folder that contains all files named by the scenario; the scenario's own folder by default.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the missing runs and an estimate of their time; run nothing.")
]


def option(flags: str, metavar: str, about: str) -> Any:
    """An option with a value, as typer declares it."""
    return typer.Option(*flags.split(), metavar=metavar, help=about)


ShardText = Annotated[
    str | None,
    option(
        "--shard",
        "I/N",
        "Only store the runs of part I of N, for jobs of a batch system; combine them with `hostsim merge`.",
    ),
]
SetAsRun = Annotated[Texts, option("--set", "PATH=VALUE", "Set a value, as `run` would.")]


def repeated(flag: str, metavar: str, about: str) -> Any:
    """A repeatable option."""
    return option(flag, metavar, f"{about} Repeatable.")


def run_options(*names: str, **changes: dict[str, Any]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator that gives a command run options on the command line, before its own options after ``*``.

    Args:
        names: options to offer, all by default; the command has the others at their defaults.
        changes: fields of `Option` that differ in this command, by the name of the option.
    """

    def decorate(command: Callable[P, T]) -> Callable[P, T]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        before = [parameter for parameter in own if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
        after = [parameter for parameter in own if parameter.kind is parameter.KEYWORD_ONLY]
        offered = names or [name for name in OPTIONS if name != "progress"]
        shared = [_parameter(name, **changes.get(name, {})) for name in offered]
        return with_signature(command, inspect.Signature([*before, *shared, *after]))

    return decorate


def _parameter(name: str, **changes: Any) -> inspect.Parameter:
    """A run option as typer takes it."""
    known = replace(OPTIONS[name], **changes)
    kind = RunOptions.__annotations__[name].__origin__
    kind = (get_args(kind) or (kind,))[0]  # the command line makes the first of several types
    flag = known.flag or f"--{name.replace('_', '-')}"
    shown: Any = typer.Option(
        known.default, flag, metavar=known.metavar, min=known.least, max=known.most, help=known.help
    )
    kind = kind | None if known.default is None else kind
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=shown, annotation=kind)


def percent(text: str, option: str) -> float:
    """Read a percentage: ``2 %`` is the share 0.02.

    Raises:
        InputError: it is no percentage from 0 on.
    """
    share = quantity(text, "percent", option) / 100
    if share < 0:
        raise InputError(Fault("is negative", option, repr(text), "a percentage from 0"))
    return share


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """Read the ``name=value`` texts of a repeated option as a mapping.

    Raises:
        InputError: one has no equals sign or no name, or a name stands twice.
    """
    found: dict[str, str] = {}
    faults = []
    for text in given or ():
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not name:
            faults.append(Fault("is not name=value", option, repr(text), "name=value"))
        elif name in found:
            faults.append(Fault("stands twice", option, repr(text), f"one value for {name}"))
        found[name] = value
    if faults:
        raise InputError(faults)
    return found

"""Command-line options that several commands share: the run options as typer takes them, and how the text of an option is read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from hostsim.errors import Fault, InputError

__all__ = [
    "DryRun",
    "Root",
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
    "with_options",
]

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


class _RunCommand(TyperCommand):
    """A command with run options after its own; it has them as the `RunOptions` of its context."""

    offers: ClassVar[Callable[[str], bool]]

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's own parameters, the run options, and ``--help``."""
        return [*self.params, *self._options, *super().get_params(ctx)[len(self.params) :]]

    def invoke(self, ctx: Any) -> Any:
        from hostsim.campaign.run_option import RunOptions

        ctx.obj = RunOptions(**{option.name: ctx.params.pop(option.name) for option in self._options})
        return super().invoke(ctx)

    @functools.cached_property
    def _options(self) -> list[Any]:
        from hostsim.campaign.run_option import RunOptions  # imports pydantic, which `hostsim --help` need not wait for

        program = typer.Typer(add_completion=False)
        program.command()(RunOptions)
        return [option for option in typer.main.get_command(program).params if type(self).offers(str(option.name))]


def with_options(*names: str, without: Collection[str] = ()) -> type[TyperCommand]:
    """The class of a command with some of the run options, by default with all."""

    def offers(name: str) -> bool:
        return name not in without and (not names or name in names)

    return type("RunCommand", (_RunCommand,), {"offers": staticmethod(offers)})


def percent(text: str, option: str) -> float:
    """Read a percentage: ``2 %`` is the share 0.02.

    Raises:
        InputError: it is no percentage from 0 on.
    """
    from hostsim.campaign.run_option import quantity

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

"""Command-line options that several commands share: the run options for typer, and parsers of option texts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from hostsim.errors import Fault, InputError, StoreError, raise_faults

if TYPE_CHECKING:
    from hostsim.results.results import Results
    from hostsim.scenario.scenario import Scenario

__all__ = [
    "Command",
    "DryRun",
    "Root",
    "ScenarioName",
    "SetAsRun",
    "ShardText",
    "Texts",
    "complete_axis",
    "complete_change",
    "complete_drawn",
    "complete_drawn_subject",
    "complete_metric",
    "complete_own_subject",
    "complete_path",
    "complete_results",
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
"""Values of a repeatable option; None if absent."""


def complete_shipped(incomplete: str) -> list[str]:
    """Names of shipped scenarios, for the completion of a shell."""
    from hostsim.scenario.shipped_data import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


def complete_scenario(incomplete: str) -> list[str]:
    """Names of shipped scenarios, and paths of YAML files and folders, for the completion of a shell."""
    return complete_shipped(incomplete) + _paths(incomplete)


def _paths(incomplete: str) -> list[str]:
    """Paths of YAML files and folders."""
    folder, _, start = incomplete.rpartition("/")
    try:
        places = sorted(Path(folder or ("/" if incomplete.startswith("/") else ".")).iterdir())
    except OSError:
        places = []
    prefix = incomplete[: len(incomplete) - len(start)]
    return [
        f"{prefix}{path.name}{'/' if path.is_dir() else ''}"
        for path in places
        if path.name.startswith(start or "")
        and not path.name.startswith(".")
        and (path.is_dir() or path.suffix in (".yaml", ".yml"))
    ]


def complete_subject(incomplete: str) -> list[str]:
    """Arguments of `check`: scenarios, files, and ids of claims."""
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
    bool,
    typer.Option("--dry-run", help="Print the number of missing runs and an estimate of their time, without running."),
]


def option(flags: str, metavar: str, about: str, complete: Callable[..., list[str]] | None = None) -> Any:
    """An option with a value, as typer declares it, and the function that completes it in a shell."""
    return typer.Option(*flags.split(), metavar=metavar, help=about, autocompletion=complete)


def complete_path(ctx: typer.Context, incomplete: str) -> list[str]:
    """Dotted paths of the scenario on the command line, with an equals sign, for ``--set``."""
    return _assignments([setting.name for setting in loaded.settings] if (loaded := _loaded(ctx)) else [], incomplete)


def complete_axis(ctx: typer.Context, incomplete: str) -> list[str]:
    """Axes of the scenario on the command line, with an equals sign, for ``--axis``; after a dot also paths."""
    if "." in incomplete:
        return complete_path(ctx, incomplete)
    return _assignments(list(loaded.axes) if (loaded := _loaded(ctx)) else [], incomplete)


def complete_change(ctx: typer.Context, incomplete: str) -> list[str]:
    """Axes and dotted paths of the scenario on the command line, for a change."""
    return [*complete_axis(ctx, incomplete), *(complete_path(ctx, incomplete) if "." not in incomplete else [])]


def complete_drawn(ctx: typer.Context, incomplete: str) -> list[str]:
    """Axes of the results on the command line."""
    results = _drawn(ctx)
    return [axis for axis in results.axes if axis.startswith(incomplete)] if results else []


def complete_own_subject(ctx: typer.Context, incomplete: str) -> list[str]:
    """Subjects of measures that the scenario on the command line names."""
    from hostsim.scenario.option_text import subject_names

    loaded = _loaded(ctx)
    return [name for name in subject_names(loaded) if name.startswith(incomplete)] if loaded else []


def complete_drawn_subject(ctx: typer.Context, incomplete: str) -> list[str]:
    """Subjects of measures in the first stored run of the results on the command line."""
    from hostsim.results.metrics.subject import KINDS, subjects

    try:
        record = next(iter(results.records), None) if (results := _drawn(ctx)) else None
    except StoreError:
        record = None
    if record is None:
        return []
    names = dict.fromkeys(name for kind in KINDS for name in subjects(record, kind))
    return [name for name in names if name.startswith(incomplete)]


def complete_results(ctx: typer.Context, incomplete: str) -> list[str]:
    """Scenarios with results below the results folder, and paths of YAML files and folders."""
    folder = Path(ctx.params.get("results") or "results")
    names = sorted(file.parent.name for file in folder.glob("*/results.json"))
    return [name for name in names if name.startswith(incomplete)] + _paths(incomplete)


def _drawn(ctx: typer.Context) -> Results | None:
    """The results on the command line; None if there are none."""
    from hostsim import api

    subject = _first(ctx, "subject", "subjects")
    for folder in (Path(ctx.params.get("results") or "results", subject), Path(subject)):
        try:
            return api.open_results(folder)
        except StoreError:
            continue
    return None


def complete_metric(incomplete: str) -> list[str]:
    """Measures of the catalogue."""
    from hostsim.results.metrics.catalogue import CATALOGUE

    return [name for name in CATALOGUE if name.startswith(incomplete)]


def _loaded(ctx: typer.Context) -> Scenario | None:
    """The scenario on the command line; None if it is missing or has faults."""
    from hostsim.scenario.load import load

    name = _first(ctx, "scenario")
    if not name:
        return None
    try:
        return load(name, root=ctx.params.get("root"))
    except InputError:
        return None


def _first(ctx: typer.Context, *names: str) -> str:
    """The first argument of the command being typed, which click does not parse while the last option has no value."""
    given = next((value for name in names if (value := ctx.params.get(name))), ctx.args)
    return given if isinstance(given, str) else next(iter(given), "")


def _assignments(names: Iterable[str], incomplete: str) -> list[str]:
    return [f"{name}=" for name in names if name.startswith(incomplete)]


ShardText = Annotated[
    str | None,
    option(
        "--shard",
        "I/N",
        "Only execute and store part I of N of the runs, for jobs of a batch system; combine the parts with `hostsim merge`.",
    ),
]
SetAsRun = Annotated[Texts, option("--set", "PATH=VALUE", "Set a value, as for `run`.", complete_path)]


def repeated(flag: str, metavar: str, about: str, complete: Callable[..., list[str]] | None = None) -> Any:
    """A repeatable option."""
    return option(flag, metavar, f"{about} Repeatable.", complete)


_TASKS: Mapping[str, tuple[str, ...]] = {
    "How long and how often": (
        *("quick", "replication", "replications", "no_ensemble"),
        *("budget", "members", "trajectories", "samples", "most"),
    ),
    "Where runs are made and stored": ("shard", "dry_run"),
    "What is printed and written": ("output", "as_json", "junit", "bibtex", "help"),
}
"""Names of the commands' own option parameters of each task; all others concern the subject of a command. Run options name their panel."""


class Command(TyperCommand):
    """A command whose help groups options by task and ends with an example."""

    def get_short_help_str(self, limit: int = 200) -> str:
        """The first sentence of the help, which lists of commands do not shorten."""
        return super().get_short_help_str(limit)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by task."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "What": [], **{task: [] for task in _TASKS}}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            named = (task for task, names in _TASKS.items() if parameter.name in names)
            task = getattr(parameter, "rich_help_panel", None) or next(named, "What")
            if row is not None:
                rows["Arguments" if parameter.param_type_name == "argument" else task].append(row)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class _RunCommand(Command):
    """A command with run options after its own, which it gets as the `RunOptions` of its context."""

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
        InputError: the text is not a percentage of at least 0.
    """
    from hostsim.campaign.run_option import quantity

    return quantity(text, "percent", option) / 100


def pairs(texts: Iterable[str] | None, option: str) -> dict[str, str]:
    """Read the ``name=value`` texts of a repeated option as a mapping.

    Raises:
        InputError: one has no equals sign or no name, or a name is given twice.
    """
    values: dict[str, str] = {}
    faults = []
    for text in texts or ():
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not name:
            faults.append(Fault("is not name=value", option, repr(text), "name=value"))
        elif name in values:
            faults.append(Fault("is given twice", option, repr(text), f"one value for {name}"))
        values[name] = value
    raise_faults(faults)
    return values

"""Commands that inspect scenarios and the catalogue, and run nothing: ``list``, ``show``, ``metrics``, ``schema``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Root, SetAsRun, Texts, complete_axis, complete_scenario, option, pairs
from hostsim.cli.output import columns, print_json, say_warnings
from hostsim.cli.part import LISTED, complete_part, copy_file, copy_part, list_parts, parts_named, show_part
from hostsim.errors import Fault, InputError, nearest_name

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.engine.record import Scalar
    from hostsim.scenario.plan import Plan
    from hostsim.scenario.scenario import Scenario

__all__ = ["list_", "metrics", "schema", "show"]

AsJson = Annotated[bool, typer.Option("--json", help="As strict JSON.")]


def list_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[scenarios|hardware|nics|guests|platforms|peers|traffic]",
            help="What to list; scenarios by default.",
            autocompletion=lambda incomplete: [kind for kind in LISTED if kind.startswith(incomplete)],
        ),
    ] = "scenarios",
) -> None:
    """Shipped scenarios and predictions with their questions, or the parts that scenarios name."""
    if kind != "scenarios":
        typer.echo(list_parts(kind))
        return
    from hostsim.scenario.load import load
    from hostsim.scenario.plan import Fidelity
    from hostsim.scenario.planner import make_plan
    from hostsim.scenario.shipped_data import predictions, shipped

    def rows(names: Iterable[str]) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        for scenario in map(load, names):
            swept = _axes_values(make_plan(scenario, Fidelity(), expectations=False))
            found.append((scenario.name, len(swept), len(scenario.expectations), scenario.question))
        return found

    typer.echo(columns(("scenario", "points", "expectations", "question"), rows(shipped())))
    typer.echo("\n" + columns(("prediction", "points", "measurements", "question"), rows(predictions())))


def show(
    context: typer.Context,
    scenario: Annotated[
        str,
        typer.Argument(
            help="Name of a shipped scenario or part, or path of a scenario's file.",
            autocompletion=lambda incomplete: [*complete_scenario(incomplete), *complete_part(incomplete)],
        ),
    ],
    overrides: SetAsRun = None,
    axes: Annotated[
        Texts, option("--axis", "NAME=VALUES", "Give an axis other values, as `run` would.", complete_axis)
    ] = None,
    root: Root = None,
    *,
    copy: Annotated[
        bool,
        typer.Option("--copy", help="Copy its file and the arrivals that it replays to this folder, for editing."),
    ] = False,
) -> None:
    """A scenario's points and settings, or a part's values, with origins.

    Of a scenario: axes, expectations, every effective setting with its origin, assumed inputs, and all points of the sweep. Of a
    part (`hostsim list nics`): each value with its place; of a kind of traffic an entry to copy. Parts of several kinds with
    the same name need the kind before it: `guests/ideal`.
    """
    options: RunOptions = context.obj
    from hostsim import api

    if _is_part(scenario):
        if given := [name for name, value in (("--set", overrides), ("--axis", axes), ("--root", root)) if value]:
            raise InputError(Fault("goes with a scenario", given[0], f"with the part {scenario}", "no such option"))
        if copy:
            copy_part(scenario)
        else:
            typer.echo(show_part(scenario))
        return

    loaded = api.load(scenario, pairs(overrides, "--set"), pairs(axes, "--axis"), root, options.plugins)
    if copy:
        _copy(loaded)
        return
    typer.echo(f"{loaded.name}: {loaded.question}\n{loaded.file}")
    if loaded.plugins:
        _section("plug-ins", ("name", "digest", "registers"), _registered(loaded))
    _show_contents(loaded)
    _show_points(loaded, api.plan(loaded, options.fidelity()))
    say_warnings(loaded.warnings)


def _is_part(name: str) -> bool:
    """True for the name of a shipped part, unless a scenario or a file has it.

    Raises:
        InputError: neither a part nor a scenario has it, and the nearest name is that of a part.
    """
    from hostsim.config.files import is_there
    from hostsim.scenario.shipped_data import predictions, shipped

    scenarios = [*shipped(), *predictions()]
    if name in scenarios or is_there(Path(name)):
        return False
    if parts_named(name):
        return True
    nearest = nearest_name(name, complete_part(""))
    if nearest and not nearest_name(name, scenarios):
        allowed = f"a path, a scenario (hostsim list) or a part (hostsim list {'|'.join(LISTED)})"
        raise InputError(Fault("unknown scenario or part", "show", repr(name), allowed, nearest))
    return False


def _registered(scenario: Scenario) -> list[tuple[str, str, str]]:
    """Name, digest and registrations of each plug-in of a scenario."""
    from hostsim.plugin.registry import ROLES

    registry = scenario.resolver.registry
    brought = {plugin.digest: list[str]() for plugin in registry.plugins}
    for role, what in ROLES.items():
        for entry in registry.of(role).values():
            if entry.plugin is not None:
                brought[entry.plugin.digest].append(f"{what} {entry.name}")
    return [(plugin.name, plugin.digest[:16], ", ".join(brought[plugin.digest])) for plugin in registry.plugins]


def _show_contents(scenario: Scenario) -> None:
    """Print axes, expectations, figures, settings and assumed inputs of a scenario."""
    from hostsim.results.verdicts import band_text

    axes = [(name, ", ".join(axis.paths), ", ".join(map(_value, axis.values))) for name, axis in scenario.axes.items()]
    _section("axes", ("axis", "sets", "values"), axes)
    expectations = [
        (entry.name, entry.published, band_text(entry.band, entry.unit), type(entry.form).__name__.lower())
        for entry in scenario.expectations
    ]
    figures = [(figure.name, figure.words) for figure in scenario.figures]
    settings = [(setting.name, setting.value, setting.origin) for setting in scenario.settings]
    assumed = [(str(a.path), str(a.value), " to ".join(map(str, a.range)), a.reason) for a in scenario.assumptions]
    if expectations:
        _section("expectations", ("name", "published", "band", "form"), expectations)
    if figures:
        _section("figures", ("name", "shows"), figures)
    _section("settings", ("name", "value", "origin"), settings)
    if assumed:
        _section("assumed", ("input", "value", "range", "reason"), assumed)


def _show_points(scenario: Scenario, plan: Plan) -> None:
    """Print the points of a sweep with the number and length of their runs."""
    points = _axes_values(plan)
    lengths = sorted({task.point.spec.length / 1e12 for task in plan.tasks}) or [0.0]
    runs = str(len(plan.tasks))
    if plan.searches:
        runs = f"{runs} to {sum(search.most() for search in plan.searches)}"
    rows = [(key, *(_value(point[name]) for name in scenario.axes)) for key, point in points]
    _section(
        f"points: {len(points)}, {runs} runs of {' or '.join(f'{length:g}' for length in lengths)} s",
        ("point", *scenario.axes),
        rows,
    )


def metrics(as_json: AsJson = False) -> None:
    """The catalogue of measures, with unit and meaning."""
    from hostsim.results.metrics.catalogue import CATALOGUE

    if as_json:
        print_json(
            [{"metric": m.name, "unit": m.unit, "kind": m.kind, "meaning": m.meaning} for m in CATALOGUE.values()]
        )
        return
    typer.echo(columns(("metric", "unit", "meaning"), [(m.name, m.unit, m.meaning) for m in CATALOGUE.values()]))


def schema(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="scenario|hardware|nic|platform|guest|peer", help="Kind of the file; scenario by default."
        ),
    ] = "scenario",
) -> None:
    """JSON Schema of files, for editors; with plug-ins, of their additions as well."""
    options: RunOptions = context.obj
    from hostsim.plugin.module import registry_of
    from hostsim.plugin.source import read_plugins
    from hostsim.scenario.json_schema import COMPONENTS, component_schema, scenario_schema

    plugins = options.plugins
    kinds = ["scenario", *COMPONENTS]
    if kind not in kinds:
        raise InputError(
            Fault("unknown kind of file", "schema", kind, f"one of {', '.join(kinds)}", nearest_name(kind, kinds))
        )
    if kind == "scenario":
        print_json(scenario_schema(registry_of(read_plugins(plugins))))
    elif plugins:
        raise InputError(Fault("adds nothing to this kind of file", "--plugin", ", ".join(map(str, plugins))))
    else:
        print_json(component_schema(kind))


def _axes_values(plan: Plan) -> list[tuple[str, dict[str, Scalar]]]:
    """Id and axis values of every point of a plan, in order."""
    return list({task.point.id: (task.point.id, dict(task.point.axes)) for task in plan.tasks}.values())


def _value(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) and value.strip() != value else str(value)


def _section(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print an indented table below its title."""
    typer.echo(f"\n{title}\n" + "\n".join(f"  {line}" for line in columns(headings, rows).splitlines()))


SCHEMA_FILE = "hostsim-scenario.schema.json"
"""Schema beside a copied scenario, named in the first line for editors with a YAML language server."""


def _copy(scenario: Scenario) -> None:
    """Copy the file of a scenario, its replayed arrivals, and the schema for editors into this folder."""
    from hostsim.cli.output import json_text
    from hostsim.config.files import write_whole
    from hostsim.scenario.json_schema import scenario_schema

    text = scenario.file.read_bytes()
    if not text.startswith(b"# yaml-language-server"):
        text = f"# yaml-language-server: $schema={SCHEMA_FILE}\n".encode() + text
    copy_file(text, Path(scenario.file.name))
    for name in scenario.resolver.arrival_files:
        copy_file((scenario.file.parent / name).read_bytes(), Path(name))
    schema = scenario_schema(scenario.resolver.registry)
    typer.echo(write_whole(Path(SCHEMA_FILE), json_text(schema).encode()))

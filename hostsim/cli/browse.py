"""Commands that look and run nothing: ``list``, ``show``, ``metrics``, ``schema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Quick, Replications, pairs
from hostsim.cli.text import columns
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from hostsim.record import Scalar
    from hostsim.scenario.points import Plan
    from hostsim.scenario.scenario import Scenario

__all__ = ["list_", "metrics", "schema", "show"]

AsJson = Annotated[bool, typer.Option("--json", help="As strict JSON.")]


def list_() -> None:
    """The shipped scenarios and the question each answers."""
    from hostsim.scenario.load import load
    from hostsim.scenario.published import shipped

    scenarios = [load(name) for name in shipped()]
    typer.echo(
        columns(
            ("scenario", "points", "expectations", "question"),
            [
                (scenario.name, len(_axes_values(_plan(scenario))), len(scenario.expectations), scenario.question)
                for scenario in scenarios
            ],
        )
    )


def show(
    scenario: Annotated[str, typer.Argument(help="Name of a shipped scenario, or path of a file.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Set a value, as `run` would.")
    ] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option("--axis", metavar="NAME=VALUES", help="Give an axis other values, as `run` would."),
    ] = None,
    quick: Quick = False,
    replications: Replications = None,
    copy: Annotated[bool, typer.Option("--copy", help="Copy its file to this folder, to edit it.")] = False,
) -> None:
    """A scenario resolved: points, settings, their origin.

    Axes, expectations, every setting in force with who says so, what is assumed, and all points of the sweep.
    """
    from hostsim.scenario.load import load

    loaded = load(scenario, pairs(overrides or (), "--set"), pairs(axes or (), "--axis"))
    if copy:
        _copy(loaded)
        return
    plan = _plan(loaded, quick=quick, replications=replications)
    points = _axes_values(plan)
    length = plan.tasks[0].point.spec.length / 1e12 if plan.tasks else 0.0
    typer.echo(f"{loaded.name}: {loaded.question}\n{loaded.file}")
    _section(
        "axes",
        columns(
            ("axis", "sets", "values"),
            [(name, ", ".join(axis.paths), ", ".join(map(_value, axis.values))) for name, axis in loaded.axes.items()],
        ),
    )
    if loaded.expectations:
        from hostsim.report.scoreboard import band_text

        rows = [
            (entry.name, entry.published, band_text(entry.band, entry.unit), type(entry.form).__name__.lower())
            for entry in loaded.expectations
        ]
        _section("expectations", columns(("name", "published", "band", "form"), rows))
    if loaded.figures:
        _section("figures", columns(("name", "shows"), [(figure.name, figure.words) for figure in loaded.figures]))
    _section("settings", columns(("name", "value", "origin"), [(s.name, s.value, s.origin) for s in loaded.settings]))
    if loaded.assumptions:
        rows = [(str(a.path), str(a.value), " to ".join(map(str, a.range)), a.reason) for a in loaded.assumptions]
        _section("assumed", columns(("input", "value", "range", "reason"), rows))
    runs = str(len(plan.tasks))
    if plan.searches:
        runs = f"{runs} to {sum(search.most() for search in plan.searches)}"
    _section(
        f"points: {len(points)}, {runs} runs of {length:g} s",
        columns(
            ("point", *loaded.axes), [(key, *(_value(point[name]) for name in loaded.axes)) for key, point in points]
        ),
    )
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)


def metrics(as_json: AsJson = False) -> None:
    """The catalogue of measures, with unit and meaning."""
    from hostsim.metrics import CATALOGUE

    if as_json:
        rows = [{"metric": m.name, "unit": m.unit, "kind": m.kind, "meaning": m.meaning} for m in CATALOGUE.values()]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    typer.echo(columns(("metric", "unit", "meaning"), [(m.name, m.unit, m.meaning) for m in CATALOGUE.values()]))


def schema() -> None:
    """JSON Schema of scenario files, for editors."""
    from hostsim.scenario.schema import scenario_schema

    typer.echo(json.dumps(scenario_schema(), indent=1, ensure_ascii=False))


def _plan(scenario: Scenario, *, quick: bool = False, replications: int | None = None) -> Plan:
    from hostsim.scenario.points import Fidelity, points

    return points(scenario, Fidelity(quick=quick, replications=replications), expectations=False)


def _axes_values(plan: Plan) -> list[tuple[str, dict[str, Scalar]]]:
    """Hash and axis values of every point, in order."""
    return list({task.point.id: (task.point.id, dict(task.point.axes)) for task in plan.tasks}.values())


def _value(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) and value.strip() != value else str(value)


def _section(title: str, body: str) -> None:
    typer.echo(f"\n{title}\n" + "\n".join(f"  {line}" for line in body.splitlines()))


def _copy(scenario: Scenario) -> None:
    target = Path(scenario.file.name)
    try:
        with target.open("xb") as file:
            file.write(scenario.file.read_bytes())
    except FileExistsError:
        raise InputError(
            Fault("exists already and is not overwritten", "--copy", str(target), "a folder without this file")
        ) from None
    except OSError as error:
        raise InputError(Fault(f"cannot be written: {error.strerror}", "--copy", str(target))) from None
    typer.echo(target)

"""Commands that inspect scenarios and their parts: ``list``, ``show``, ``metrics``, ``schema``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hostsim.cli.option import Root, SetAsRun, Texts, complete_axis, complete_scenario, option, pairs
from hostsim.cli.output import columns, json_text, print_json, say_warnings
from hostsim.config.files import display_name, is_there, write_whole
from hostsim.errors import Fault, InputError, nearest_name, unknown_name

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.engine.record import Scalar
    from hostsim.scenario.plan import Plan
    from hostsim.scenario.scenario import Scenario

__all__ = [
    "COMPONENTS",
    "LISTED",
    "SCHEMA_FILE",
    "complete_part",
    "copy_file",
    "copy_part",
    "list_",
    "list_parts",
    "metrics",
    "parts_named",
    "schema",
    "show",
    "show_part",
]

COMPONENTS: Final = {"hardware": "hardware", "nics": "nic", "guests": "guest", "platforms": "platform", "peers": "peer"}
"""Kinds of parts that have files, and the file names for `hostsim schema`."""
LISTED: Final = (*COMPONENTS, "traffic")
"""Kinds for `hostsim list`, in addition to scenarios."""
_USES: Final = {
    "hardware": "hardware: ./{file}",
    "nics": "model: {file}, for a NIC in a hardware file",
    "guests": "guest: ./{file}, for a group of VMs",
    "platforms": "platform: ./{file}",
    "peers": "peer: ./{file}",
    "traffic": "an entry below traffic:",
}
"""Line of a scenario or hardware file that uses the copy."""


def parts_named(name: str) -> list[tuple[str, str, Path]]:
    """The shipped parts with a name (``X710``, or with its kind ``nics/X710``): kind, name and file of each."""
    from hostsim.scenario.shipped_data import shipped_parts

    kind, slash, rest = name.partition("/")
    kinds, name = ((kind,), rest) if slash and kind in LISTED else (LISTED, name)
    return [(kind, name, files[name]) for kind in kinds if name in (files := shipped_parts(kind))]


def complete_part(incomplete: str) -> list[str]:
    """Names of shipped parts, for the completion of a shell."""
    from hostsim.scenario.shipped_data import shipped_parts

    return [name for kind in LISTED for name in shipped_parts(kind) if name.startswith(incomplete)]


def list_parts(kind: str) -> str:
    """The shipped parts of a kind as a table.

    Raises:
        InputError: an unknown kind.
    """
    from hostsim.scenario.component import Parts
    from hostsim.scenario.shipped_data import part_title, shipped_parts
    from hostsim.units import US

    if kind not in LISTED:
        raise InputError(unknown_name("kind of part", "list", kind, ["scenarios", *LISTED]))
    parts, rows = Parts(Path()), list[Sequence[object]]()
    if kind == "hardware":
        for name in shipped_parts(kind):
            server = parts.hardware(name, (kind,)).spec
            assert server is not None
            ports = ", ".join(dict.fromkeys(nic.model for nic in server.nics.values()))
            rows.append((name, server.cpu.model, server.cpu.pcpus, f"{len(server.nics)}: {ports}"))
        return columns(("hardware", "processors", "PCPUs", "NIC ports"), rows)
    if kind == "nics":
        for name in shipped_parts(kind):
            nic = parts.nic(name).spec
            assert nic is not None
            moderation = nic.moderation if nic.interrupt_interval is None else f"{nic.interrupt_interval / US:g} us"
            drivers = ", ".join((nic.driver, *nic.other_drivers))
            rows.append((name, nic.rx_queues, nic.rx_ring, moderation, drivers, nic.model))
        return columns(("model", "rx queues", "rx ring", "moderation", "drivers", "what it is"), rows)
    rows += [(name, part_title(file)) for name, file in shipped_parts(kind).items()]
    return columns((kind.removesuffix("s") if kind != "traffic" else "kind", "what it is"), rows)


def only_part(name: str) -> tuple[str, str, Path]:
    """The shipped part with a name.

    Raises:
        InputError: parts of several kinds have the name.
    """
    parts = parts_named(name)
    if len(parts) > 1:
        kinds = ", ".join(f"{kind}/{own}" for kind, own, _ in parts)
        raise InputError(Fault("is the name of several parts", "show", repr(name), f"one of {kinds}"))
    return parts[0]


def show_part(name: str) -> str:
    """A shipped part: description, file, and each value with its origin; for a kind of traffic, an entry to copy."""
    from hostsim.scenario.component import Parts
    from hostsim.scenario.shipped_data import part_title
    from hostsim.scenario.yaml.source_tree import dotted, leaves

    kind, own, file = only_part(name)
    if kind == "traffic":
        return file.read_text(encoding="utf-8").rstrip()
    parts = Parts(Path())
    tree = parts.nic(own).tree if kind == "nics" else getattr(parts, COMPONENTS[kind])(own, ()).tree
    rows = [(dotted(path), value, str(tree.place(path))) for path, value in leaves(tree.data)]
    return f"{own}: {part_title(file)}\n{display_name(file)}\n\n" + columns(("name", "value", "origin"), rows)


def copy_part(name: str) -> None:
    """Copy the file of a shipped part into this folder, with the schema for editors; print the file names, and the line that uses it.

    Raises:
        InputError: parts of several kinds have the name, or the file exists already.
    """
    from hostsim.scenario.json_schema import component_schema

    kind, own, file = only_part(name)
    text, target = file.read_bytes(), Path(f"{own}.yaml")
    if kind == "traffic":
        copy_file(text, target)
    else:
        schema = f"hostsim-{COMPONENTS[kind]}.schema.json"
        copy_file(f"# yaml-language-server: $schema={schema}\n".encode() + text, target)
        write_schema(schema, component_schema(COMPONENTS[kind]))
    typer.echo(f"use it as {_USES[kind].format(file=target)}", err=True)


def copy_file(content: bytes, target: Path, option: str = "--copy") -> None:
    """Write a new file and print its name.

    Raises:
        InputError: the file exists already, or cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise InputError(
            Fault("exists already and is not overwritten", option, str(target), "a folder without this file")
        ) from None
    except OSError as error:
        raise InputError(Fault(f"cannot be written: {error.strerror}", option, str(target))) from None
    typer.echo(target)


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

    def rows(names: Iterable[str]) -> Iterator[tuple[object, ...]]:
        for scenario in map(load, names):
            swept = _axes_values(make_plan(scenario, Fidelity(), expectations=False))
            yield scenario.name, len(swept), len(scenario.expectations), scenario.question

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
        Texts, option("--axis", "NAME=VALUES", "Replace the values of an axis, as for `run`.", complete_axis)
    ] = None,
    root: Root = None,
    *,
    copy: Annotated[
        bool,
        typer.Option(
            "--copy", help="Copy its file, and the arrivals file that it replays, to this folder for editing."
        ),
    ] = False,
) -> None:
    """A scenario's points and settings, or a part's values, with origins.

    For a scenario: axes, expectations, every effective setting with its origin, assumed inputs, and all points of the
    sweep. For a part (`hostsim list nics`): each value with its origin; for a kind of traffic, an entry to copy. If
    parts of several kinds have the same name, put the kind before it: `guests/ideal`.
    """
    options: RunOptions = context.obj
    from hostsim import api

    if _is_part(scenario):
        if given := [name for name, value in (("--set", overrides), ("--axis", axes), ("--root", root)) if value]:
            raise InputError(Fault("requires a scenario", given[0], f"with the part {scenario}", "no such option"))
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
    """True for the name of a shipped part, unless a scenario or a file has the same name.

    Raises:
        InputError: the name is unknown, and the nearest known name is that of a part.
    """
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
    for role, words in ROLES.items():
        for entry in registry.of(role).values():
            if entry.plugin is not None:
                brought[entry.plugin.digest].append(f"{words} {entry.name}")
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
    """JSON Schema of files, for editors; plug-ins add their keys."""
    options: RunOptions = context.obj
    from hostsim.plugin.module import registry_of
    from hostsim.plugin.source import read_plugins
    from hostsim.scenario.json_schema import COMPONENTS, component_schema, scenario_schema

    plugins = options.plugins
    kinds = ["scenario", *COMPONENTS]
    if kind not in kinds:
        raise InputError(unknown_name("kind of file", "schema", kind, kinds))
    if kind == "scenario":
        print_json(scenario_schema(registry_of(read_plugins(plugins))))
    elif plugins:
        raise InputError(Fault("adds no key to this kind of file", "--plugin", ", ".join(map(str, plugins))))
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


def write_schema(file: str, schema: Mapping[str, object]) -> None:
    """Write a schema for editors into this folder, and print its name."""
    typer.echo(write_whole(Path(file), json_text(schema).encode()))


def _copy(scenario: Scenario) -> None:
    """Copy the file of a scenario, its replayed arrivals, and the schema for editors into this folder."""
    from hostsim.scenario.json_schema import scenario_schema

    text = scenario.file.read_bytes()
    if not text.startswith(b"# yaml-language-server"):
        text = f"# yaml-language-server: $schema={SCHEMA_FILE}\n".encode() + text
    copy_file(text, Path(scenario.file.name))
    for name in scenario.resolver.arrival_files:
        copy_file((scenario.file.parent / name).read_bytes(), Path(name))
    write_schema(SCHEMA_FILE, scenario_schema(scenario.resolver.registry))

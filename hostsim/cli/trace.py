"""``trace``: a Perfetto timeline of one point of a scenario over a window of simulated time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Root, ScenarioName, SetAsRun, Texts, complete_axis, option, pairs, repeated
from hostsim.cli.output import say_warnings
from hostsim.config.files import is_stdout, require_file, write_whole
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.scenario.plan import Fidelity, Point
    from hostsim.scenario.scenario import Scenario
    from hostsim.views.trace import Timeline

__all__ = ["trace"]


def trace(
    context: typer.Context,
    scenario: ScenarioName,
    at: Annotated[
        Texts,
        repeated("--at", "AXIS=VALUE", "The point to run; other axes have their first value.", complete_axis),
    ] = None,
    overrides: SetAsRun = None,
    begin: Annotated[
        str | None, option("--from", "TIME", "Start of the window; half of the run's length by default.")
    ] = None,
    length: Annotated[str, option("--length", "TIME", "Length of the window.")] = "20 ms",
    output: Annotated[
        Path | None, option("-o --output", "FILE", "The trace; SCENARIO.pftrace in this folder by default.")
    ] = None,
    root: Root = None,
    *,
    replication: Annotated[
        int, typer.Option("--replication", metavar="N", min=0, help="Number of the replication, from 0.")
    ] = 0,
) -> None:
    """Write a Perfetto timeline of one point.

    Always runs the point up to the end of the window, and writes the events in the window: a track for every PCPU and
    every world, with waiting times; counters of rings and coalescing; and interrupts. Open the file at
    https://ui.perfetto.dev
    or with trace_processor.
    """
    options: RunOptions = context.obj
    from hostsim import api
    from hostsim.views.trace import observe, to_perfetto

    loaded = api.load(scenario, pairs(overrides, "--set"), root=root, plugins=options.plugins)
    file = output or Path(f"{loaded.name}.pftrace")
    require_file(file)
    point = _point(loaded, pairs(at, "--at"), options.fidelity())
    start = _window(begin, "--from", 0) if begin is not None else point.spec.length // 2
    end = start + _window(length, "--length", 1)
    timeline = observe(point.spec, seed=options.seed, replication=replication, begin=start, end=end)
    words = ", ".join(f"{axis}={value}" for axis, value in point.axes.items()) or "the only point"
    title = f"{loaded.name}: {words}; seed {options.seed}, replication {replication}"
    written = write_whole(file, to_perfetto(timeline, title))
    if not is_stdout(written):
        typer.echo(written)
    typer.echo(f"{title}\n{_summary(timeline, start, end)}", err=True)
    say_warnings((*loaded.warnings, *point.warnings))


def _summary(timeline: Timeline, start: int, end: int) -> str:
    """Number of intervals in which worlds ran, and utilisation of PCPUs, in the window, as a sentence."""
    stays = sum(map(len, timeline.stays()))
    busy = 100 * sum(timeline.busy) / ((end - start) * len(timeline.busy))
    return f"{(end - start) / 1e9:g} ms from {start / 1e9:g} ms: {len(timeline.worlds)} worlds ran {stays} times on {len(timeline.nodes)} PCPUs, which were busy for {busy:.1f} %"


def _point(scenario: Scenario, at: Mapping[str, str], fidelity: Fidelity) -> Point:
    """The point with the given values of axes."""
    from hostsim.scenario.option_text import faults_of_at, parse_point
    from hostsim.scenario.plan import point_at

    values = parse_point(scenario, at)
    with faults_of_at():
        return point_at(scenario, values, fidelity)


def _window(text: str, option: str, least: int) -> int:
    """A time on the command line in picoseconds."""
    from hostsim.campaign.run_option import quantity
    from hostsim.units import seconds_to_ps

    time = seconds_to_ps(quantity(text, "duration", option))
    if time < least:
        raise InputError(Fault("is too short", option, repr(text), "a time above 0"))
    return time

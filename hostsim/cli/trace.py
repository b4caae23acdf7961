"""``trace``: one point of a scenario, watched for a while, as a timeline for Perfetto."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Quick, Seed, pairs
from hostsim.errors import Fault, InputError, nearest_name

if TYPE_CHECKING:
    from hostsim.record import Scalar
    from hostsim.scenario.scenario import Scenario

__all__ = ["trace"]


def trace(
    scenario: Annotated[str, typer.Argument(help="Name of a shipped scenario, or path of a file.")],
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="AXIS=VALUE",
            help="The point to run; axes that are not named have their first value. May be given often.",
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Set a value, as `run` would.")
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Start of the window; half of the run's length by default."),
    ] = None,
    length: Annotated[str, typer.Option("--length", metavar="TIME", help="Length of the window.")] = "20 ms",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The trace; SCENARIO.pftrace in this folder by default."),
    ] = None,
    quick: Quick = False,
    seed: Seed = 1,
    replication: Annotated[
        int, typer.Option("--replication", metavar="N", min=0, help="Number of the replication, from 0.")
    ] = 0,
) -> None:
    """Who ran where, and what waited: a timeline for Perfetto.

    Runs one point up to the end of the window, whether the results folder holds it or not, and writes what happened in the window:
    a track for every PCPU and every world, counters of rings and coalescing, interrupts. Open the file at https://ui.perfetto.dev
    or with trace_processor.
    """
    from hostsim import api
    from hostsim.campaign.observe import observe
    from hostsim.export.perfetto import to_perfetto
    from hostsim.plots.atomic import is_stdout, write_whole
    from hostsim.report.destination import require_file
    from hostsim.scenario.points import point_at

    loaded = api.load(scenario, pairs(overrides or (), "--set"))
    file = output or Path(f"{loaded.name}.pftrace")
    require_file(file)
    fidelity = api.fidelity(quick=quick, seed=seed, replications=None)
    try:
        point = point_at(loaded, _values(loaded, pairs(at or (), "--at")), fidelity)
    except InputError as error:
        raise InputError(
            [replace(fault, file="--at") if fault.file == "--axis" else fault for fault in error.faults]
        ) from None
    start = _window(begin, "--from", 0) if begin is not None else point.spec.length // 2
    end = start + _window(length, "--length", 1)
    seen = observe(point.spec, seed=seed, replication=replication, begin=start, end=end)
    words = ", ".join(f"{axis}={value}" for axis, value in point.axes.items()) or "the only point"
    title = f"{loaded.name}: {words}; seed {seed}, replication {replication}"
    written = write_whole(file, to_perfetto(seen, title))
    if not is_stdout(written):
        typer.echo(written)
    stays = sum(map(len, seen.stays()))
    busy = 100 * sum(seen.busy) / ((end - start) * len(seen.busy))
    typer.echo(
        f"{title}\n{(end - start) / 1e9:g} ms from {start / 1e9:g} ms: {stays} stays of {len(seen.worlds)} worlds on"
        f" {len(seen.nodes)} PCPUs, which were busy for {busy:.1f} %",
        err=True,
    )
    for warning in dict.fromkeys((*loaded.warnings, *point.warnings)):
        typer.echo(f"warning: {warning}", err=True)


def _values(scenario: Scenario, at: Mapping[str, str]) -> dict[str, Scalar]:
    """The values of axes that a point is chosen by, as the scenario writes them."""
    from hostsim.scenario.axis import read_values

    found: dict[str, Scalar] = {}
    faults = []
    for name, text in at.items():
        axis = scenario.axes.get(name)
        if axis is None:
            known = ", ".join(scenario.axes) or "no axis: there is one point"
            faults.append(Fault("unknown axis", "--at", repr(name), known, nearest_name(name, list(scenario.axes))))
            continue
        values = [axis.known(value) for value in read_values(text, axis.values)]
        if len(values) != 1:
            faults.append(Fault("is not one point", f"--at {name}", repr(text), "one value"))
        else:
            found[name] = values[0]
    if faults:
        raise InputError(faults)
    return found


def _window(text: str, option: str, least: int) -> int:
    """A time in picoseconds."""
    from hostsim.spec.quantity import read_quantity
    from hostsim.units import seconds_to_ps

    try:
        time = seconds_to_ps(read_quantity(text, "duration"))
    except ValueError as error:
        message, _, allowed = str(error).partition("|")
        raise InputError(Fault(message, option, repr(text), allowed)) from None
    if time < least:
        raise InputError(Fault("is too short", option, repr(text), "a time above 0" if least else "a time from 0 on"))
    return time

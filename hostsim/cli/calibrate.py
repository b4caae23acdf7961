"""``calibrate``: fit an ensemble to measurements of your own host, or the shipped constants to all published claims."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Root, complete_scenario, option
from hostsim.cli.output import about, columns, duration, say_warnings
from hostsim.config.files import require_folder
from hostsim.errors import Fault, InputError, raise_faults

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.lab.calibration.host_calibration import Calibrated
    from hostsim.lab.calibration.joint import Joint, Waves
    from hostsim.lab.calibration.own_host import OwnHost
    from hostsim.lab.calibration.prior import Evaluated
    from hostsim.lab.calibration.shipped_claims import ShippedFit
    from hostsim.scenario.scenario import Scenario

__all__ = ["calibrate"]

BUDGET = "1 h"
"""Of your own host."""
MEMBERS = 50
"""Number of hosts in the ensemble around the best fit to the published claims."""
LEAST_SHOWN = 0.25
"""Smallest listed change of a number, in standard deviations of its prior."""
MOST_SHOWN = 5
"""Number of measurements outside their intervals that are listed by name."""


def calibrate(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO",
            help="Scenario of your host with its known values: path of a file, or name of a shipped scenario. Without it, the shipped constants are fitted to all published claims.",
            autocompletion=complete_scenario,
        ),
    ] = None,
    to: Annotated[
        Path | None,
        option(
            "--to",
            "FILE",
            "Measurements, a CSV file: axes of the scenario, metric, value, and interval, the half-width of its 95 % interval. By default the scenario's own expectations.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        option("--budget", "TIME", "Processor time of all runs; 1 h by default."),
    ] = None,
    members: Annotated[
        str | None,
        option(
            "--members",
            "N,N,N",
            "Number of hosts drawn from the priors, and in each further wave, instead of a budget; the last wave is the ensemble.",
        ),
    ] = None,
    predict: Annotated[
        str | None,
        option(
            "--predict",
            "METRIC@AXIS=VALUE",
            "Metric to predict at a point; every point of the sweep is then predicted, and the best next measurement is suggested.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option("-o --output", "DIR", "Folder of all runs and results; by default one in the results folder."),
    ] = None,
    root: Root = None,
    *,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the numbers to calibrate, the number of hosts and the cost, without running."
        ),
    ] = False,
) -> None:
    """Calibrate a host to measurements: an ensemble of hosts that agree with them.

    The first hosts cover the priors of all assumed constants and inputs. Emulators learn how the measurements depend on
    them, and two waves of hosts agree with the measurements; the last wave is the ensemble. Without a scenario, the
    shipped constants are fitted: the host that is most likely by its priors and all published claims. A stopped
    calibration resumes in its folder.
    """
    options: RunOptions = context.obj
    if scenario is None:
        _require_none({"--to": to, "--predict": predict, "--root": root, "--budget": budget, "--members": members})
        _calibrate_shipped(output, options, dry_run=dry_run)
    else:
        if budget is not None and members is not None:
            raise InputError(Fault("exclude each other", "--budget, --members", allowed="one of them"))
        _calibrate_own(scenario, to, budget or BUDGET, members, predict, output, root, options, dry_run=dry_run)


def _calibrate_own(
    name: str,
    to: Path | None,
    budget: str,
    members: str | None,
    predict: str | None,
    output: Path | None,
    root: Path | None,
    options: RunOptions,
    *,
    dry_run: bool,
) -> None:
    from hostsim.lab.calibration.host_calibration import calibrate_own, own_host, read_budget
    from hostsim.scenario.load import load

    scenario = load(name, root=root, plugins=options.plugins)
    execution, spent = options.execution(), read_budget(budget, _numbers(members))
    say_warnings(scenario.warnings)
    if dry_run:
        host = own_host(scenario, to, output, execution, predict=predict, seed=options.seed)
        typer.echo(_own_forecast(host, spent, options))
        return
    calibrated, parts = calibrate_own(
        scenario, to, spent, execution, output=output, predict=predict, seed=options.seed, report=_Reporter()
    )
    typer.echo(_answer(calibrated, scenario.name))
    if command := _command(scenario, parts):
        typer.echo(f"run the member nearest the centre: {command}")


def _calibrate_shipped(output: Path | None, options: RunOptions, *, dry_run: bool) -> None:
    from hostsim.campaign.ensemble import write_ensemble
    from hostsim.lab.calibration.host_calibration import FOLDER
    from hostsim.lab.calibration.shipped_claims import draw_hosts, prepare_shipped, shipped_fit

    folder = output or options.results / FOLDER / "shipped"
    require_folder(folder)
    fit, start = prepare_shipped(
        folder, options.execution(), seed=options.seed, report=lambda line: typer.echo(line, err=True)
    )
    if dry_run:
        names = dict.fromkeys(observation.experiment for observation in fit.observations)
        typer.echo(
            f"{len(fit.priors)} constants and inputs, {len(fit.observations)} claims of {', '.join(names)}; log: {folder}"
        )
        return
    fitted = fit.fit(start)
    shipped = shipped_fit(fit, fitted)
    shipped.write(folder)
    write_ensemble(folder / "ensemble.csv", draw_hosts(fit, fitted, shipped.left_out, MEMBERS))
    typer.echo(_fit_answer(shipped))
    typer.echo(f"all of it: {folder}")


def _fit_answer(shipped: ShippedFit) -> str:
    """The numbers that the best fit changed, and the missed claims."""
    moved = sorted(
        (number for number in shipped.numbers if abs(number.moved) >= LEAST_SHOWN), key=lambda entry: -abs(entry.moved)
    )
    rows = [
        (
            entry.name,
            entry.unit or "-",
            f"{entry.prior[1]:.4g}",
            f"{entry.value:.4g}",
            f"{entry.moved:+.2f}",
            f"{100 * entry.kept:.0f} %",
        )
        for entry in moved
    ]
    lines = [columns(("number", "unit", "prior", "best fit", "moved, in sd", "sd left"), rows), ""]
    missed = [claim for claim in shipped.claims if abs(claim.residual) > 1]
    lines += [
        f"off: {entry.name}: {entry.value:.4g}, published {entry.published:.4g} +- {entry.half:.2g}" for entry in missed
    ]
    lines.append(
        f"objective {shipped.objectives[0]:.1f} -> {shipped.objectives[-1]:.1f} in {len(shipped.objectives) - 1} steps and {shipped.processor_h:.1f} processor hours; "
        f"{shipped.effective:.1f} effective parameters; {len(shipped.claims) - len(missed)} of {len(shipped.claims)} claims within a half-width"
    )
    return "\n".join(lines)


def _require_none(given: Mapping[str, object]) -> None:
    raise_faults(
        Fault("needs a scenario", name, str(value), "calibrate SCENARIO")
        for name, value in given.items()
        if value is not None
    )


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            Fault("is not a list of wave sizes", "--members", repr(text), "numbers with commas, such as 160,50,50")
        ) from None


class _Reporter:
    """Prints a line on stderr for each finished host."""

    def __init__(self) -> None:
        self._count = 0
        self._spent = 0.0

    def __call__(self, member: Evaluated) -> None:
        self._count += 1
        self._spent += member.processor_s
        why = f"is impossible: {member.error}" if member.error else ""
        typer.echo(
            f"host {self._count} (member {member.member}), {duration(self._spent)} of processor time{why}", err=True
        )


def _own_forecast(host: OwnHost, budget: float | Waves, options: RunOptions) -> str:
    from hostsim.lab.calibration.joint import Waves
    from hostsim.lab.calibration.own_host import hosts_within

    host_s = _host_seconds(host.joint, options)
    waves = budget if isinstance(budget, Waves) else hosts_within(budget, max(host_s, 1e-3))
    return _forecast(host.joint, waves, host_s, options)


def _host_seconds(joint: Joint, options: RunOptions) -> float:
    """Processor time of a host, measured or estimated."""
    from hostsim.campaign.store import Store
    from hostsim.cli.forecast import forecast
    from hostsim.scenario.plan import Fidelity

    evaluated = joint.evaluated().values()
    if evaluated:
        return sum(member.processor_s for member in evaluated) / len(evaluated)
    fidelity = Fidelity(quick=True, seed=options.seed)
    with TemporaryDirectory() as empty:  # every host needs all runs; stored runs of the shipped host do not help
        store = Store(Path(empty))
        return forecast(joint.host.plan(joint.host.scenario, fidelity), store, 1).seconds


def _forecast(joint: Joint, waves: Waves, host_s: float, options: RunOptions) -> str:
    """The subject of the calibration and its cost, one line for each."""
    from hostsim.campaign.executor.base import worker_count

    sizes = (waves.first, *waves.others)
    done = sum(member % 1000 < sizes[member // 1000] for member in joint.evaluated() if member // 1000 < len(sizes))
    left = max(sum(sizes) - done, 0)
    jobs = worker_count(options.jobs)
    rows = [
        ("calibrated", f"{len(joint.design.priors)} constants and inputs"),
        ("to", f"{len(joint.observations)} measurements of {joint.host.scenario.name}"),
        ("hosts", f"{sum(sizes)}: {' + '.join(map(str, sizes))}, of which {done} are in {joint.folder}"),
        ("processor time", f"at most {about(host_s * left)}, {about(host_s)} each"),
        (
            "takes",
            f"at most {about(host_s * left / jobs)} on {jobs} processors, and a few minutes for emulators and chains",
        ),
    ]
    return columns(("", ""), rows).strip("\n")


def _answer(calibrated: Calibrated, name: str) -> str:
    """The result: numbers that the data determine, residuals, the prediction, and the next measurement."""
    held = calibrated.held
    others = [entry.name for entry in calibrated.summary.learnt if entry not in held]
    rows = [
        (
            entry.name,
            entry.unit or "-",
            _spread(entry.prior),
            _spread(entry.posterior),
            f"{entry.moved:+.1f}",
            f"{100 * entry.kept:.0f} %",
        )
        for entry in held
    ]
    off = [residual for residual in calibrated.residuals if not residual.holds]
    lines = []
    if held:
        headings = ("held by the data", "unit", "before", "after", "moved, in sd", "sd left")
        lines += [columns(headings, rows), ""]
    lines += [
        *textwrap.wrap(f"not held, as before: {', '.join(others) or 'none'}", 120, break_long_words=False),
        "",
        f"{name}: {len(held)} of {len(held) + len(others)} numbers are held, {len(calibrated.residuals) - len(off)} of {len(calibrated.residuals)} measurements agree with the ensemble of {len(calibrated.ensemble)} hosts",
    ]
    lines += [
        f"off: {entry.name}: {_spread((entry.low, entry.median, entry.high))}, measured {entry.measured:.4g} +- {entry.interval:.2g}"
        for entry in off[:MOST_SHOWN]
    ]
    lines += [
        f"apart from constants, the model misses {where} by about {median:.1f} half-widths (90 %: {low:.1f} to {high:.1f})"
        for where, (low, median, high) in calibrated.summary.discrepancies.items()
    ]
    if (entry := calibrated.host.prediction()) is not None:
        lines.append(f"predicted: {entry.name}: {_spread((entry.low, entry.median, entry.high))} (90 %)")
    lines += [
        f"measure next: {entry.name}, which narrows it by {100 * entry.narrows:.0f} %"
        for entry in calibrated.host.next_measurements()[:1]
    ]
    lines.append(f"all of it: {calibrated.joint.folder}")
    return "\n".join(lines)


def _spread(ends: Sequence[float]) -> str:
    low, median, high = ends
    return f"{median:.4g} [{low:.4g}, {high:.4g}]"


def _command(scenario: Scenario, parts: Mapping[str, Mapping[str, Path]]) -> str:
    """The command that runs a scenario with the calibrated parts; empty if the scenario sweeps over parts or is shipped."""
    from hostsim.scenario.shipped_data import find_scenario, predictions, shipped

    if scenario.file in {find_scenario(name) for name in (*shipped(), *predictions())} or any(
        len(files) > 1 for files in parts.values()
    ):
        return ""
    beside = scenario.file.parent.resolve()
    words = ["hostsim", "run", os.path.relpath(scenario.file)]
    paths = [
        (path, os.path.relpath(file.resolve(), beside)) for path, files in parts.items() for file in files.values()
    ]
    for path, file in paths:
        words += ["--set", f"{path}={file}"]
    above = [file for _, file in paths if file.startswith("..")]
    if above:
        words += [
            "--root",
            os.path.relpath(os.path.commonpath([beside, *((beside / file).resolve() for file in above)])),
        ]
    return shlex.join(words)

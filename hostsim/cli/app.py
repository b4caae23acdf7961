"""The typer application: its commands, and the exit status of errors and Ctrl-C.

Heavy modules are imported when a command needs them, so that ``hostsim --help`` is fast.
"""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from hostsim.cli import check, inspection, sweep
from hostsim.cli.calibrate import calibrate
from hostsim.cli.check import cite, predict, verify
from hostsim.cli.explore import explore
from hostsim.cli.import_files import import_
from hostsim.cli.new import new
from hostsim.cli.option import Command, with_options
from hostsim.cli.output import BEGAN
from hostsim.cli.status import Status
from hostsim.cli.store import merge, prune
from hostsim.cli.study import sensitivity, what_if
from hostsim.cli.trace import trace
from hostsim.engine import compiled
from hostsim.errors import ClusterError, HostsimError, InputError

__all__ = ["app"]

_ABOUT = """
Simulates the network stack of an ESXi-style host, runs sweeps written in YAML, and compares the results with published
measurements.

Every run is stored in the results folder and never repeated. Data goes to stdout, everything else to stderr.

Exit status: 0 done, and every checked claim passes or is a known red; 1 a claim does not; 2 bad input, or a file that cannot be
read or written; 3 a sweep ended with failed runs; 4 an error in hostsim itself; 130 interrupted, with every finished run stored.
"""


class _Commands(TyperGroup):
    """The group of all commands; prints the faults of a `HostsimError` on stderr, without a traceback."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by task."""
        tasks: dict[str, list[tuple[str, str]]] = {}
        commands = [(name, command) for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))]
        for name, command in commands:
            task = getattr(command, "rich_help_panel", None) or "More"
            tasks.setdefault(task, []).append((name, command.get_short_help_str()))
        for task, rows in tasks.items():
            with formatter.section(task):
                formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; ``--ensemble`` takes the next argument if it is a CSV file, as typer has no optional option values."""
        if "--ensemble" in args:
            from hostsim.campaign.run_option import SHIPPED

            alone, pairs = f"--ensemble={SHIPPED}", zip(args, [*args[1:], ""], strict=True)
            args = [alone if text == "--ensemble" and not after.endswith(".csv") else text for text, after in pairs]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        ctx.meta[BEGAN] = time.monotonic()

        try:
            return super().invoke(ctx)
        except HostsimError as error:
            faults = error.faults if isinstance(error, InputError) else ()
            typer.echo("\n".join(fault.on_command_line() for fault in faults) or str(error), err=True)
            raise typer.Exit(Status.FAILED_RUNS if isinstance(error, ClusterError) else Status.INPUT) from None
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C prints no second message
            typer.echo("interrupted: every finished run is stored; the same command resumes", err=True)
            raise typer.Exit(Status.INTERRUPTED) from None


app = typer.Typer(
    cls=_Commands,
    help=_ABOUT,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        slower = "" if compiled.in_use() else ", which takes eight to seventeen times as long"
        typer.echo(f"{version('hostsim')} ({compiled.kind()}{slower})")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_version,
        is_eager=True,
        help="Print the version, and whether the simulator is compiled.",
    ),
) -> None:
    logging.basicConfig(format="%(message)s", stream=sys.stderr, level=logging.WARNING)


def _command(
    name: str, function: Callable[..., None], example: str, task: str, cls: type[TyperCommand] = Command
) -> None:
    """Add a command, its task for the grouping of the help, and an example of its arguments."""
    app.command(name, cls=cls, epilog=f"Example: hostsim {name} {example}".rstrip(), rich_help_panel=task)(function)


_LOOK, _RUN, _JUDGE, _STUDY, _KEEP = "Look", "Run", "Compare with published measurements", "Study", "Results"
_command("new", new, "my-host --nic E810 --traffic http", _LOOK)
_command("list", inspection.list_, "nics", _LOOK)
_command("show", inspection.show, "first-sweep --copy", _LOOK, with_options("quick", "replications", "plugins"))
_command("metrics", inspection.metrics, "--json", _LOOK)
_command("schema", inspection.schema, "hardware", _LOOK, with_options("plugins"))
_command("import", import_, "esxtop.csv nics.txt -o my-host", _LOOK)
_command("run", sweep.run, "first-sweep --quick --axis interrupts=1000,4000", _RUN, with_options())
_command("what-if", what_if, "first-sweep --set vms.receiver.count=8 --quick", _RUN, with_options())
_command(
    "trace",
    trace,
    'first-sweep --at interrupts=4000 --from "300 ms" --quick',
    _RUN,
    with_options("quick", "seed", "plugins"),
)
_command("reproduce", sweep.reproduce, "splitrx latency --quick", _JUDGE, with_options())
_command("check", check.check, "'split*.40k' --quick", _JUDGE, with_options())
_command("predict", predict, "--quick", _JUDGE, with_options(without=("plugins",)))
_command("cite", cite, "splitrx --bibtex", _JUDGE)
_command("verify", verify, "--quick", _JUDGE, with_options("seed", "jobs"))
_command(
    "sensitivity",
    sensitivity,
    "splitrx --metric loss --at receivers=24 --quick",
    _STUDY,
    with_options("quick", "seed", "jobs", "cluster", "results", "plugins"),
)
_command(
    "calibrate",
    calibrate,
    'my-host.yaml --to measured.csv --budget "30 min"',
    _STUDY,
    with_options("seed", "jobs", "results", "plugins"),
)
_command("plot", sweep.plot, "first-sweep --x interrupts --y latency_p99", _KEEP, with_options("results"))
_command("explore", explore, "first-sweep --quick", _KEEP, with_options())
_command("report", sweep.report, "first-sweep --contexts --at interrupts=4000", _KEEP, with_options("results"))
_command("merge", merge, "shard-1 shard-2 --results results", _KEEP, with_options("results"))
_command("prune", prune, "--unusable --dry-run", _KEEP, with_options("results"))

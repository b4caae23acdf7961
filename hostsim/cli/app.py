"""The typer application: its commands, and the exit status of errors and Ctrl-C.

Nothing heavy is imported before a command needs it: ``hostsim --help`` answers at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from hostsim.cli import check, inspection, sweep
from hostsim.cli.calibrate import calibrate
from hostsim.cli.cite import cite
from hostsim.cli.import_files import import_
from hostsim.cli.option import with_options
from hostsim.cli.predict import predict
from hostsim.cli.prune import prune
from hostsim.cli.sensitivity import sensitivity
from hostsim.cli.shard import merge
from hostsim.cli.status import Status
from hostsim.cli.trace import trace
from hostsim.cli.verify import verify
from hostsim.cli.what_if import what_if
from hostsim.engine import compiled

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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; ``--ensemble`` takes the next one as its file if that is CSV: typer has no option with an optional value."""
        if "--ensemble" in args:
            from hostsim.campaign.run_option import SHIPPED

            alone, pairs = f"--ensemble={SHIPPED}", zip(args, [*args[1:], ""], strict=True)
            args = [alone if text == "--ensemble" and not after.endswith(".csv") else text for text, after in pairs]
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _until_read():  # --help is printed here
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        from hostsim.errors import ClusterError, HostsimError, InputError

        try:
            with _until_read():
                return super().invoke(ctx)
        except HostsimError as error:
            faults = error.faults if isinstance(error, InputError) else ()
            typer.echo("\n".join(fault.on_command_line() for fault in faults) or str(error), err=True)
            raise typer.Exit(Status.FAILED_RUNS if isinstance(error, ClusterError) else Status.INPUT) from None
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C prints no second message
            typer.echo("interrupted: every finished run is stored; the same command resumes", err=True)
            raise typer.Exit(Status.INTERRUPTED) from None


@contextlib.contextmanager
def _until_read() -> Iterator[None]:
    """End with status 0 on a broken pipe: the reader of stdout has closed it."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


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


app.command("list")(inspection.list_)
app.command("show", cls=with_options("quick", "replications", "plugins"))(inspection.show)
app.command("run", cls=with_options())(sweep.run)
app.command("check", cls=with_options())(check.check)
app.command("predict", cls=with_options(without=("plugins",)))(predict)
app.command("reproduce", cls=with_options())(sweep.reproduce)
app.command("merge", cls=with_options("results"))(merge)
app.command("prune", cls=with_options("results"))(prune)
app.command("plot", cls=with_options("results"))(sweep.plot)
app.command("report", cls=with_options("results"))(sweep.report)
app.command("what-if", cls=with_options())(what_if)
app.command("trace", cls=with_options("quick", "seed", "plugins"))(trace)
app.command("metrics")(inspection.metrics)
app.command("sensitivity", cls=with_options("quick", "seed", "jobs", "cluster", "results", "plugins"))(sensitivity)
app.command("verify", cls=with_options("seed", "jobs"))(verify)
app.command("calibrate", cls=with_options("seed", "jobs", "results", "plugins"))(calibrate)
app.command("import")(import_)
app.command("schema", cls=with_options("plugins"))(inspection.schema)
app.command("cite")(cite)

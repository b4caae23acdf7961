"""Command ``explore``: an interactive page for each scenario to explore its results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Root, Texts, complete_scenario, option, pairs, repeated
from hostsim.cli.output import Reporter, say_partial, say_warnings
from hostsim.cli.status import Status
from hostsim.config.files import is_stdout, require_folder
from hostsim.errors import Fault, InputError

if TYPE_CHECKING:
    from hostsim.campaign.run_option import RunOptions
    from hostsim.results.results import Results

__all__ = ["explore"]


def explore(
    context: typer.Context,
    subjects: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|SCENARIO",
            help="Results folders, folders that contain results folders, or scenarios, whose missing runs are executed first.",
            autocompletion=complete_scenario,
        ),
    ],
    overrides: Annotated[Texts, repeated("--set", "PATH=VALUE", "For a scenario: set a value, as for `run`.")] = None,
    axes: Annotated[
        Texts, repeated("--axis", "NAME=VALUES", "For a scenario: replace the values of an axis, as for `run`.")
    ] = None,
    against: Annotated[
        Path | None,
        option("--against", "DIR", "Earlier results of the same scenario, to show beside these with the differences."),
    ] = None,
    output: Annotated[
        Path | None,
        option("-o --output", "FILE", "File of the page; explore.html in the folder of the results by default."),
    ] = None,
    root: Root = None,
) -> None:
    """Write a page to explore results in a browser: one self-contained file for each scenario, without a server.

    It draws any measure against any axis, filters by brushing, and shows the worlds, latency stages, time lines and distribution of
    each point. Prints the names of the pages.
    """
    options: RunOptions = context.obj
    from hostsim.results.integrity import confined
    from hostsim.views.explorer.data import write_explorer

    changes = pairs(overrides, "--set"), pairs(axes, "--axis")
    sides = [entry for subject in subjects for entry in _results_of(subject, options, changes, root)]
    if output is not None and len(sides) > 1:
        names = ", ".join(results.scenario for _, results in sides)
        raise InputError(Fault("is one file for several scenarios", "--output", str(output), f"one of {names}"))
    partial = 0
    for folder, results in sides:
        page = write_explorer(output or confined(folder, folder / "explore.html"), results, folder, against)
        if not is_stdout(page):
            typer.echo(page)
        partial += say_partial(results)
    if partial:
        raise typer.Exit(Status.FAILED_RUNS)


def _results_of(
    subject: str, options: RunOptions, changes: tuple[dict[str, str], dict[str, str]], root: Path | None
) -> list[tuple[Path, Results]]:
    """The results of a subject with their folders: a folder is read; a scenario is run and its folder written.

    A folder may be a copy without its runs, and its scenario may have any name.
    """
    from hostsim import api

    folder = Path(subject)
    if folder.is_dir():
        if any(changes):
            given = " ".join(f"{name}={value}" for part in changes for name, value in part.items())
            raise InputError(
                Fault("options of a run cannot be combined with a folder of results", "", given, "a scenario")
            )
        places = (
            [folder]
            if (folder / "results.json").is_file()
            else sorted(file.parent for file in folder.glob("*/results.json")) or [folder]
        )
        return [(folder_of_results, api.open_results(folder_of_results)) for folder_of_results in places]
    kept = Path(options.results, subject)
    if not any(changes) and (kept / "results.json").is_file() and not _is_scenario(subject):
        return [(kept, api.open_results(kept, options.results))]
    return [_run(subject, options, changes, root)]


def _is_scenario(subject: str) -> bool:
    from hostsim.scenario.shipped_data import shipped

    return subject in shipped() or Path(subject).is_file()


def _run(
    scenario: str, options: RunOptions, changes: tuple[dict[str, str], dict[str, str]], root: Path | None
) -> tuple[Path, Results]:
    from hostsim import api
    from hostsim.views.report.folder import write

    loaded = api.load(scenario, *changes, root, options.plugins)
    folder = Path(options.results, loaded.name)
    require_folder(folder)
    with Reporter() as reporter:
        results = api.run(loaded, progress=reporter, options=options.model_copy(update={"plugins": []}))
    write(results, folder)
    say_warnings(results.warnings)
    return folder, results

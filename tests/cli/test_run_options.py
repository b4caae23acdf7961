"""Run options are declared once: each command offers some of them, as declared."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from pydantic import ValidationError
from typer.testing import CliRunner

from hostsim.campaign.run_option import LENGTH, OPTIONS, RunOptions
from hostsim.cli.app import app
from hostsim.cli.option import with_options
from hostsim.errors import InputError

ALL = tuple(OPTIONS)
OFFERED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("run", "check", "reproduce", "what-if", "explore"), ALL),
    "predict": tuple(name for name in ALL if name != "plugins"),
    "sensitivity": ("quick", "seed", "jobs", "cluster", "results", "plugins"),
    "calibrate": ("seed", "jobs", "results", "plugins"),
    "verify": ("seed", "jobs"),
    "trace": ("quick", "seed", "plugins"),
    "show": ("quick", "replications", "plugins"),
    "schema": ("plugins",),
    **dict.fromkeys(("merge", "plot", "prune", "report"), ("results",)),
    **dict.fromkeys(("list", "metrics", "cite", "import", "new"), ()),
}
OWN = {("sensitivity", "replications"), ("verify", "quick")}
"""Options of commands with names of run options."""


@pytest.mark.parametrize("name", OFFERED)
def test_a_command_offers_its_part_of_the_run_options_as_they_are_declared(name):
    """Order, default, help and value name are those of the declaration."""
    command = typer.main.get_command(app).commands[name]
    parameters = command.get_params(typer.Context(command))
    found = [each for each in parameters if each.name in OPTIONS and (name, each.name) not in OWN]
    assert tuple(parameter.name for parameter in found) == OFFERED[name]
    for parameter in found:
        option = OPTIONS[parameter.name]
        assert parameter.opts == [option.default, *option.param_decls]
        assert (parameter.metavar, parameter.help) == (option.metavar, option.help)
        assert parameter.default == RunOptions.model_fields[parameter.name].default


def test_every_command_is_known_to_this_test():
    """A new command declares the run options that it offers."""
    assert set(OFFERED) == set(typer.main.get_command(app).commands)


def test_a_command_has_the_run_options_as_the_object_of_its_context():
    """Options that it does not offer are at their defaults."""
    program, seen = typer.Typer(), []

    @program.command(cls=with_options("seed", "jobs"))
    def cook(context: typer.Context, dish: str, *, salt: bool = False) -> None:
        seen.append((dish, salt, context.obj))

    done = CliRunner().invoke(program, ["soup", "--salt", "--seed", "7"])
    assert done.exit_code == 0, done.output
    assert seen == [("soup", True, RunOptions(seed=7))]
    page = CliRunner().invoke(program, ["--help"]).output
    assert page.index("--salt") < page.index("--seed") < page.index("--jobs")
    assert "--results" not in page


def test_run_options_are_frozen_and_settled():
    """Quantities as text are in base units, plug-ins are a list; all faults are reported at once."""
    options = RunOptions(max_time="2 min", max_memory="2 GB", ensemble=True, plugins=(Path("mine.py"),))
    assert (options.max_time, options.max_memory, options.ensemble) == (120, 2_000_000_000, "shipped")
    assert options.plugins == ["mine.py"]
    with pytest.raises(ValidationError, match="frozen"):
        options.seed = 2
    with pytest.raises(InputError) as caught:
        RunOptions(seed=-1, replications=2.5, quick="maybe")
    assert sorted(fault.path for fault in caught.value.faults) == ["--quick", "--replications", "--seed"]


def test_a_bound_on_one_side_is_a_bound():
    """Workers start from 1, without a largest number."""
    with pytest.raises(InputError, match=r"^jobs: is out of range; given 0; allowed: an integer from 1$"):
        RunOptions(jobs=0)
    assert RunOptions(jobs=10**6).jobs == 10**6


def test_the_options_that_make_a_fidelity_are_in_one_panel():
    """A calibration refuses the panel, because it chooses the fidelity of its runs, except for the seed."""
    read = set()

    class Read(RunOptions):
        def __getattribute__(self, name):
            read.add(name)
            return super().__getattribute__(name)

    Read().fidelity()
    assert read & OPTIONS.keys() == {name for name, option in OPTIONS.items() if option.rich_help_panel == LENGTH}

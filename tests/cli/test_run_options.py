"""Run options are declared once: each command offers its part of them, as they are declared."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from hostsim.campaign.run_option import OPTIONS
from hostsim.cli.app import app
from hostsim.cli.option import run_options

ALL = (
    *("quick", "seed", "replications", "thorough", "max_processor_time", "ensemble"),
    *("jobs", "cluster", "results", "max_memory", "max_time", "plugins"),
)
OFFERED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("run", "check", "reproduce", "what-if"), ALL),
    "predict": tuple(name for name in ALL if name != "plugins"),
    "sensitivity": (*ALL[:3], *ALL[6:9], "plugins"),
    "calibrate": ("seed", "jobs", "results", "plugins"),
    "verify": ("quick", "seed", "jobs"),
    "trace": ("quick", "seed", "plugins"),
    "show": ("quick", "replications", "plugins"),
    "schema": ("plugins",),
    **dict.fromkeys(("merge", "plot", "prune", "report"), ("results",)),
    **dict.fromkeys(("list", "metrics", "cite"), ()),
}
CHANGED = {("sensitivity", "replications"), ("verify", "quick")}
"""Options that mean something else in a command."""


@pytest.mark.parametrize("name", OFFERED)
def test_a_command_offers_its_part_of_the_run_options_as_they_are_declared(name):
    """In the order, and with the default, help and name of the value, of the declaration."""
    found = [parameter for parameter in typer.main.get_command(app).commands[name].params if parameter.name in OPTIONS]
    assert tuple(parameter.name for parameter in found) == OFFERED[name]
    for parameter in found:
        option = OPTIONS[parameter.name]
        assert parameter.opts == [option.flag or f"--{parameter.name.replace('_', '-')}"]
        assert parameter.metavar == option.metavar
        if (name, parameter.name) not in CHANGED:
            assert (parameter.default, parameter.help) == (option.default, option.help)


def test_every_command_is_known_to_this_test():
    """A new one says which run options it offers."""
    assert set(OFFERED) == set(typer.main.get_command(app).commands)


def test_a_command_has_every_option_and_its_own_after_the_star_come_last():
    """Those that it does not offer are at their defaults; those that it changes are as it says."""
    program, seen = typer.Typer(), {}

    @program.command()
    @run_options("seed", "jobs", jobs={"help": "Cooks.", "default": 3})
    def cook(dish: str, *, salt: bool = False, **options: object) -> None:
        seen.update(options, dish=dish, salt=salt)

    done = CliRunner().invoke(program, ["soup", "--salt", "--seed", "7"])
    assert done.exit_code == 0, done.output
    assert seen == {name: option.default for name, option in OPTIONS.items()} | {
        "dish": "soup",
        "salt": True,
        "seed": 7,
        "jobs": 3,
    }
    page = CliRunner().invoke(program, ["--help"]).output
    assert "Cooks." in page
    assert page.index("--seed") < page.index("--jobs") < page.index("--salt")
    assert "--results" not in page

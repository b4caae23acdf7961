"""Help, examples and completion of commands; warnings before answers; one figure of any measure."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hostsim.cli.app import app
from hostsim.cli.option import (
    complete_axis,
    complete_change,
    complete_drawn,
    complete_drawn_subject,
    complete_metric,
    complete_own_subject,
    complete_path,
    complete_results,
)


def test_warnings_precede_the_answer_and_are_coloured_in_a_terminal(tiny, monkeypatch):
    """A setting without effect is reported before the run, and not in a footnote below the files."""
    from hostsim.cli.output import coloured

    tiny.write_text(tiny.read_text().replace("vms:", "host: {advanced: {Net.NetSchedCoalesceTxUsecs: 30}}\nvms:"))
    done = CliRunner().invoke(app, ["run", "tiny.yaml", "--quick", "--jobs", "1", "--axis", "receivers=1"])
    assert done.output.startswith("warning: tiny.yaml:7: ")
    terminal, file = io.StringIO(), io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert coloured("warning", "yellow", terminal) == "\x1b[33mwarning\x1b[0m"
    assert coloured("warning", "yellow", file) == "warning"
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("warning", "yellow", terminal) == "warning"


@pytest.mark.parametrize("name", sorted(typer.main.get_command(app).commands))
def test_the_example_of_a_command_has_its_options(cli, name):
    """Click refuses unknown options and impossible values before it prints help."""
    example = typer.main.get_command(app).commands[name].epilog
    words = shlex.split(example.removeprefix("Example: hostsim "))
    assert words[0] == name
    assert cli(*words, "--help").exit_code == 0, example


@pytest.mark.parametrize(
    ("words", "complete", "start", "found"),
    [
        (["run", "tiny.yaml", "--axis"], complete_axis, "r", ["receivers=", "rate="]),
        (["run", "tiny.yaml", "--axis"], complete_axis, "vms.receiver.c", ["vms.receiver.count="]),
        (["run", "tiny.yaml", "--set"], complete_path, "traffic.stream.packet", ["traffic.stream.packet_size="]),
        (["run", "tiny.yaml", "--set"], complete_path, "hardware.cpu.cl", ["hardware.cpu.clock="]),
        (["run", "--quick", "--set"], complete_path, "vms.", []),
        (["run", "no.yaml", "--set"], complete_path, "vms.", []),
        (["what-if", "tiny.yaml", "--set"], complete_change, "rece", ["receivers="]),
        (["what-if", "tiny.yaml", "--of"], complete_own_subject, "", ["stream", "receiver", "vmnic0"]),
        (["sensitivity", "tiny.yaml", "--metric", "loss", "--of"], complete_own_subject, "rec", ["receiver"]),
        (["plot", "tiny", "--x"], complete_drawn, "", []),
        (["plot", "tiny", "--of"], complete_drawn_subject, "", []),
        (["plot"], complete_results, "ti", ["tiny.yaml"]),
    ],
)
def test_shells_complete_axes_and_paths(tiny, words, complete, start, found):
    """For the scenario on the command line, as far as it can be loaded."""
    command = typer.main.get_command(app).commands[words[0]]
    with command.make_context(words[0], words[1:], resilient_parsing=True) as context:
        assert complete(context, start) == found


def test_shells_complete_measures():
    """The completions are the measures of the catalogue."""
    assert complete_metric("latency_p9") == ["latency_p95", "latency_p99", "latency_p999", "latency_p9999"]


def test_plot_draws_any_measure_against_an_axis(cli, tiny_run):
    """Files are named after the measure and the line labels; an error names the wrong option."""
    done = cli("plot", "tiny", "--x", "receivers", "--y", "latency_p95", "--by", "rate")
    assert [Path(line).name for line in done.stdout.split()] == [
        "latency_p95-rate.svg",
        "latency_p95-rate.png",
    ]
    assert cli("plot", "tiny", "--y", "loss", "--at", "rate=2 kpps").exit_code == 0
    assert Path("results/tiny/figures/loss.png").is_file()
    for subject in (("loss", "--of", "stream"), ("loss of stream",)):
        done = cli("plot", "tiny", "--y", *subject)
        assert Path(done.stdout.split()[0]).name == "loss-of-stream.svg"
    command = typer.main.get_command(app).commands["plot"]
    with command.make_context("plot", ["tiny", "--x"], resilient_parsing=True) as context:
        assert complete_drawn(context, "r") == ["receivers", "rate"]
        assert complete_drawn_subject(context, "vmnic0-") == ["vmnic0-rx0", "vmnic0-pollWorld-0"]
        assert complete_results(context, "ti") == ["tiny", "tiny.yaml"]
    assert cli("plot", "tiny.yaml", "--y", "loss").stdout == cli("plot", "tiny", "--y", "loss").stdout
    for wrong, said in (
        (("--x", "recivers", "--y", "loss"), "x: unknown axis; given recivers"),
        (("--y", "los"), "did you mean 'loss'?"),
        (("--x", "receivers"), "--x, --of, --by and --at: draw nothing without a measure"),
        (("--y", "loss", "--of", "strem"), "did you mean 'stream'?"),
        (("--y", "loss of stream", "--of", "receiver"), "--of: names a subject, as --y does"),
        (("--y", "loss", "--warm-up"), "--warm-up: has no effect without a measure"),
    ):
        done = cli("plot", "tiny", *wrong)
        assert done.exit_code == 2, wrong
        assert said in done.stderr

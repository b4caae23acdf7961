"""Every command that prints a percentile with too few observations says so in words."""

from __future__ import annotations

from pathlib import Path

from hostsim.results.estimate import NOT_ESTIMABLE


def test_every_command_says_so(cli, tiny: Path) -> None:
    """check, figures, report: words, no crash, and exit status 1 if a claim depends on it; cells of the table are empty."""
    text = tiny.read_text()
    text = text.replace("y: host_cpu", "y: latency_p9999").replace("metric: loss, at", "metric: latency_p9999, at")
    tiny.write_text(text.replace("between: [0, 0.01 %]}", "between: [0, 50]}"))
    done = cli("check", tiny, "--jobs", "1")
    assert done.exit_code == 1
    row = next(line for line in done.stdout.splitlines() if line.startswith("nothing lost"))
    assert NOT_ESTIMABLE in row
    assert "latency_p9999 needs 36887 observations" in done.stderr
    assert cli("run", tiny, "--jobs", "1").exit_code == 0
    assert NOT_ESTIMABLE not in Path("results/tiny/table.csv").read_text()
    assert NOT_ESTIMABLE in Path("results/tiny/figures/cpu.svg").read_text()
    assert cli("report", "tiny").exit_code == 0
    assert NOT_ESTIMABLE in Path("results/tiny/report.html").read_text()

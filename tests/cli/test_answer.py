"""A sweep ends with its answer; a dry run and `reproduce` do what was requested."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hostsim.cli.answer import MOST_POINTS, MOST_ROWS, MOST_SERIES, WIDTH, answer
from hostsim.results.figure import AnswersSpec, AxisNames, FigureSpec, TableSpec
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.verdicts import Verdicts
from tests.sample_results import VERDICTS, results


def swept(loss: dict[tuple[int, str], float]) -> pd.DataFrame:
    """A table with one run per point, with the loss at each number of receivers and mode."""
    rows = [
        {"point": f"p{place}", "replication": 0, "seed": 1, "receivers": receivers, "mode": mode}
        | dict.fromkeys(CATALOGUE, np.nan)
        | {"loss": value, "bottleneck": "none", "flags": "", "error": ""}
        for place, ((receivers, mode), value) in enumerate(loss.items())
    ]
    table = pd.DataFrame(rows)
    table.attrs |= {"units": {"loss": "%"}, "provenance": {"seed": "1"}}
    return table


def test_run_prints_curves_judged_expectations_and_the_bottleneck_before_the_files(cli, tiny):
    """The answer, then the places of the tables."""
    cli("check", tiny, "--jobs", "1", "--quick")
    done = cli("run", tiny, "--jobs", "1", "--quick")
    question, curves, judged, bottlenecks, files = done.stdout.split("\n\n")
    assert question == "Does it run?"
    heading, *series = curves.splitlines()
    assert heading == "Host CPU utilisation against receivers (%)"
    assert [line.split("  ")[1] for line in series] == ["rate=2 kpps", "rate=5 kpps"]
    assert [line.split(" at ")[-1] for line in series] == ["2", "2"]
    assert [line.split("  ")[0] for line in judged.splitlines()] == ["claim", "nothing lost", "room", "room ratio"]
    *_, last = bottlenecks.split("bottleneck at ")
    place, *reason = last.splitlines()
    assert place == "receivers=2, rate=5 kpps: load stream"
    assert reason[0].startswith("  All offered traffic of stream is carried, ")
    assert all(line.startswith("  ") and len(line) <= WIDTH for line in reason)
    assert files.startswith("results/tiny/table.parquet")


def test_a_long_series_is_its_ends_and_an_extreme_between_them():
    """Two values show both ends, and a third the peak."""
    table = swept({(n, "a"): float(loss) for n, loss in enumerate([1, 2, 9, 3, 4, 5])})
    figure = FigureSpec("loss", "receivers", "loss", ("mode",))
    text = answer(results(table=table, figures=(figure,), verdicts=Verdicts()))
    assert "\n  mode=a  1 at 0, 9 at 2, 5 at 5" in text
    straight = swept({(n, "a"): float(n) for n in range(6)})
    assert "  mode=a  0 at 0, 5 at 5" in answer(results(table=straight, figures=(figure,), verdicts=Verdicts()))


def test_named_values_are_printed_by_name():
    """As in figures: values of the series, and on the x axis."""
    names = {"mode": AxisNames("Mode", {"a": "splitRxMode"}), "receivers": AxisNames("Receivers", {"2": "two"})}
    figure = FigureSpec("loss", "receivers", "loss", ("mode",), axes=names)
    text = answer(results(table=swept({(1, "a"): 0.0, (2, "a"): 7.5}), figures=(figure,), verdicts=Verdicts()))
    assert "\n  splitRxMode  0 at 1, 7.5 at two" in text


def test_many_series_and_points_are_counted():
    """A sweep of thousands of points still ends in a few lines."""
    table = swept({(1, f"m{n}"): 0.0 for n in range(MOST_SERIES + 3)})
    text = answer(results(table=table, figures=(FigureSpec("loss", "receivers", "loss", ("mode",)),)))
    assert "  and 3 more series" in text
    assert text.count("bottleneck at") <= MOST_POINTS


def test_a_sweep_without_curves_has_a_row_for_each_point():
    """Measures of its table if it has one; the bottleneck is that of the run with most loss."""
    table = swept({(1, "a"): 0.0, (2, "a"): 7.5})
    more = table.assign(replication=1, loss=[1.0, 0.5], bottleneck=["ring x", "none"], throughput=9.4)
    both = pd.concat([table, more])
    both.attrs = table.attrs
    rows = [line.split("  ") for line in answer(results(table=both, figures=())).split("\n\n")[1].splitlines()]
    cells = [[cell.strip() for cell in row if cell] for row in rows]
    assert cells == [
        ["receivers", "mode", "throughput (Gbit/s)", "loss (%)", "cpu_total (% of a PCPU)", "bottleneck"],
        ["1", "a", "9.4", "0.5", "–", "ring x"],
        ["2", "a", "9.4", "4", "–", "none"],
    ]
    text = answer(results(table=both, figures=(TableSpec("t", x="receivers", columns=("loss",)),)))
    assert "\nreceivers  mode  loss (%)  bottleneck\n1          a     0.5       ring x\n" in text


def test_points_beyond_the_printed_ones_are_counted():
    """A sweep of many points without figures."""
    table = swept({(n, "a"): 0.0 for n in range(MOST_ROWS + 2)})
    assert "\nand 2 more points: table.csv\n" in answer(results(table=table, figures=()))


def test_a_value_that_is_not_there_is_said_and_bars_of_answers_are_left_to_the_expectations():
    """A percentile with too few observations, and a figure whose bars are verdicts."""
    table = swept({(1, "a"): np.nan, (2, "a"): 1.0})
    figures = (FigureSpec("loss", "receivers", "loss"), AnswersSpec("bars", (VERDICTS[0].expectation.name,)))
    text = answer(results(table=table, figures=figures))
    assert "\n  no value at 1, 1 at 2\n" in text
    assert text.startswith("Is 1 < 2 & 3?\n\nPacket loss against receivers (%)")
    assert VERDICTS[0].expectation.name in text


def test_a_dry_run_of_several_scenarios_ends_with_their_total(cli, tiny):
    """Points, runs and time in total; a single scenario has no total."""
    tiny.with_name("more.yaml").write_text(tiny.read_text().replace("scenario: tiny", "scenario: more"))
    cli("check", "more.yaml", "--quick", "--jobs", "1")
    done = cli("check", "tiny.yaml", "more.yaml", "--quick", "--dry-run", "--jobs", "1")
    header, *rows, total = done.stdout.splitlines()
    assert header.split()[:5] == ["scenario", "points", "runs", "stored", "missing"]
    assert [row.split()[0] for row in rows] == ["tiny", "more"]
    assert total.split()[:5] == ["total", *(str(sum(int(row.split()[n]) for row in rows)) for n in (1, 2, 3, 4))]
    assert "total" not in cli("check", "more.yaml", "--quick", "--dry-run").stdout


def test_reproduce_refuses_what_is_not_shipped(cli, tiny):
    """The error has the nearest name, and nothing is run."""
    done = cli("reproduce", "latenci", "splitrx", "--quick")
    assert done.exit_code == 2
    assert "unknown scenario; given 'latenci'" in done.stderr
    assert "did you mean 'latency'?" in done.stderr


@pytest.mark.parametrize(("start", "names"), [("splitrx", ["splitrx"]), ("lat", ["latency", "latency-neighbour"])])
def test_shells_complete_what_reproduce_takes(start, names):
    """Shipped scenarios, and no files."""
    from hostsim.cli.option import complete_shipped

    assert complete_shipped(start) == names

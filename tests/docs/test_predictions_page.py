"""The page of predictions has all of them, with the ledger's first value and the commits of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hostsim_docs import predictions_page
from hostsim_docs.interval_coverage import PredictedInterval
from hostsim_docs.predictions_page import HEAD, main, page

import hostsim
from hostsim.lab.prediction import FirstPrediction, Prediction, first_commit_with, read_ledger
from hostsim.results.expect import At, Band, Expectation, Verdict, VerdictState
from hostsim.results.verdicts import number
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import LEDGER, data_root, measurements, predictions
from tests.loaded import loaded

PAGE = Path(hostsim.__file__).parent.parent / "docs" / "predictions.md"
LEDGER_FILE = data_root() / "predictions" / LEDGER


def cells(text: str, heading: str) -> dict[str, list[str]]:
    """Rows of the table below a heading, by their first cell."""
    section = text.split(f"\n## {heading}\n")[1].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines()]
    return {row[0].strip("`"): row[1:] for row in rows if row and row[0].startswith("`")}


def test_the_page_is_of_the_predictions_and_the_ledger_that_there_are():
    """`make predictions` writes it; a missing or different first value is a fault. Today's values are not run again."""
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    values, commits = cells(text, "First and today"), cells(text, "Commits")
    scenarios = {entry.name: name for name in predictions() for entry in loaded(name).expectations}
    published = {
        entry.name: f"{entry.published} {entry.unit}" for name in predictions() for entry in loaded(name).expectations
    }
    ledger = read_ledger(LEDGER_FILE)
    assert values.keys() == commits.keys()
    assert cells(text, "Baseline").keys() == {name for _, names in predictions_page.baselines() for name in names}
    assert ledger.keys() <= values.keys() <= scenarios.keys()
    for name in values:
        first = ledger.get(name)
        assert values[name][0].replace(",", "") == published[name]
        assert values[name][2].endswith("not yet" if first is None else number(first.value))
        assert commits[name][0] == f"`{scenarios[name]}`"
        assert commits[name][1].strip("`") == ("not yet" if first is None else first.inputs[:12])
        if (named := commits[name][2].strip("`")) != "not yet":
            assert (first_commit_with(LEDGER_FILE, f"{name}:") or named).startswith(named)


def made(first: FirstPrediction | None) -> Prediction:
    row = measurements()["esxi55-40g.1vcpu"]
    expectation = Expectation(row.id, At("throughput", {}), row.band, row.unit, row.value, is_claim=True, kind="scale")
    return Prediction(row, Verdict(expectation, "small", 13.8, 13.7, 13.9, VerdictState.PASS), "same", first)


def test_a_first_value_stands_beside_todays_and_what_was_changed_for_it_is_said(tmp_path, monkeypatch):
    """The page has both errors and both commits; without a first value it says so."""
    monkeypatch.setattr(predictions_page, "data_root", lambda: tmp_path)
    first = FirstPrediction(
        date="2026-01-02",
        inputs="0123456789abcdef",
        digest="same",
        code="c",
        value=12.69,
        interval=(12.6, 12.7),
        fidelity="full",
        seed=1,
        hostsim="0",
        changed_for="GRO in the driver",
    )
    text = page([made(first)], [], quick=False)
    apart = "mechanism changed for it: GRO in the driver"
    values = ["14.1 Gbit/s", "13.7 to 14.5", "12.69", "-10.0 %", "13.8", "-2.1 %", apart]
    assert cells(text, "First and today") == {"esxi55-40g.1vcpu": values}
    commits = ["`small`", "`0123456789ab`", "not yet", "2026-01-02", "full, 1"]
    assert cells(text, "Commits") == {"esxi55-40g.1vcpu": commits}
    assert "| scale | first | 1 | 10.0 % | 0 of 1 | – | mechanism changed for it |" in text
    without = page([made(None)], [], quick=True)
    assert cells(without, "First and today")["esxi55-40g.1vcpu"][2] == "not yet"
    assert "Today's values are of quick fidelity." in without


def test_a_prediction_interval_that_misses_is_bold():
    """The published value counts, not the band."""
    ends = {"low": 13.0, "value": 13.8, "high": 14.0, "prior": (10.0, 20.0)}
    interval = PredictedInterval("esxi55-40g.1vcpu", "model as it was", "scale", 14.1, Band(13.7, 14.5), **ends)
    text = page([made(None)], [interval], quick=False)
    assert cells(text, "Prediction intervals") == {
        "esxi55-40g.1vcpu": ["scale", "14.1", "**13.8 (13 to 14)**", "10 to 20"]
    }
    assert "| model as it was | scale | 1 | 0 (0 %) |" in text


def test_a_baseline_is_beside_the_prediction_with_its_own_error_and_interval():
    """Those of the prediction come from the page, those of the baseline from runs without the mechanism."""
    ends = {"low": 13.0, "value": 13.8, "high": 14.0, "prior": (10.0, 20.0)}
    interval = PredictedInterval("esxi55-40g.1vcpu", "model as it was", "scale", 14.1, Band(13.7, 14.5), **ends)
    one = made(None)
    without = replace(one, verdict=replace(one.verdict, value=7.05, prediction=None))
    assert cells(page([one], [interval], [(without, without)], quick=False), "Baseline") == {
        "esxi55-40g.1vcpu": ["14.1 Gbit/s", "13.8", "-2.1 %", "13 to 14", "7.05", "-50.0 %", "–"]
    }


def test_the_baselines_are_of_shipped_predictions_and_ask_the_same():
    """Each file has the name of the prediction that it answers without a mechanism."""
    files = sorted((data_root() / "predictions" / "baselines").glob("*.yaml"))
    shipped = {file.stem: {entry.name for entry in load(file.stem).expectations} for file in files}
    asked = [names for _, names in predictions_page.baselines()]
    assert len(asked) == len(files) > 0
    assert all(names <= shipped[file.stem] for file, names in zip(files, asked, strict=True))


def test_the_command_runs_the_predictions_that_are_shipped(tmp_path, monkeypatch):
    """Here there are none: an empty folder has no measurements to run."""
    monkeypatch.setattr(predictions_page, "predictions", dict)
    monkeypatch.setattr("sys.argv", ["page", str(tmp_path / "page.md"), "--results", str(tmp_path / "results")])
    main()
    assert (tmp_path / "page.md").read_text(encoding="utf-8").startswith(HEAD)

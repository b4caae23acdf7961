"""Measurements of a user's host: read as expectations, and every fault of the file with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.errors import InputError
from hostsim.lab.calibration.measured import read_measured, read_prediction
from hostsim.results.expect import At
from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario
from tests.tiny_scenario import TINY

HEADER = "receivers,rate,metric,value,interval\n"


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY)
    return load("tiny.yaml")


def measured(text: str) -> Path:
    file = Path("measured.csv")
    file.write_text(text)
    return file


def test_measurements_become_expectations(scenario: Scenario) -> None:
    """Values with a unit are converted to the metric's, axes are in the sweep's notation; an axis without a column has its first value."""
    one, other = read_measured(
        measured(f"{HEADER}1,5000 pps,host_cpu,1.5,0.2\n3,2 kpps,latency_mean,0.1 ms,5 us\n"), scenario
    )
    assert one.form == At("host_cpu", {"receivers": 1, "rate": "5 kpps"})
    assert (one.band.low, one.band.high) == (1.3, 1.7)
    assert (other.band.low, other.band.high) == (95.0, 105.0)
    [first] = read_measured(measured("metric,value,interval\nhost_cpu,1,1\n"), scenario)
    assert first.name == "host_cpu at receivers=1, rate=2 kpps"


def test_a_number_is_in_the_unit_that_tables_have(scenario: Scenario) -> None:
    """Columns of a run's table are valid measurements; text and number are the same point."""
    one, other = read_measured(measured(f"{HEADER}1,5000.0,host_cpu,1.5,0.2\n1,7000,host_cpu,2,0.2\n"), scenario)
    assert one.name == "host_cpu at receivers=1, rate=5 kpps"
    assert other.name == "host_cpu at receivers=1, rate=7000 pps"
    assert read_prediction("host_cpu@rate=5000", scenario)[1]["rate"] == "5 kpps"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["measured.csv: is empty"]),
        (HEADER, ["measured.csv: contains no measurements"]),
        ("Metric,Value,interval\nhost_cpu,1,1\n", [":1: unknown column; given 'Metric'", "mean 'metric'"]),
        (f"{HEADER}1,,host_cpu,1.5,0.2\n", [":2: rate: is empty; allowed: a value of the axis"]),
        ("receivrs,metric,value,interval\n1,host_cpu,1,1\n", [":1: unknown column", "'receivrs'", "mean 'receivers'"]),
        (
            '"(PDH-CSV 4.0) (UTC)(0)"' + ',"Util"' * 9000 + "\n",
            ["measured.csv:1: is the output of `esxtop -b`, not a table of measurements; given '(PDH-CSV 4.0)"],
        ),
        (
            "metric,value\nhost_cpu,1\n",
            [":1: has no column interval; allowed: axes of the scenario, metric, value, interval: "],
        ),
        ("metric,metric,value,interval\nhost_cpu,loss,1,1\n", [":1: has a column twice"]),
        (f"{HEADER}1,5 kpps,hostcpu,1,1\n", [":2: metric: unknown metric", "mean 'host_cpu'"]),
        (f"{HEADER}\n1,5 kpp,host_cpu,1,1\n", [":3: traffic.stream.rate", "'5 kpp'"]),
        (f"{HEADER}-1,5 kpps,host_cpu,1,1\n", [":2: vms.receiver.count"]),
        (f"{HEADER}1,5 kpps,host_cpu,nan,1\n", [":2: value", "'nan'"]),
        (f"{HEADER}1,5 kpps,host_cpu,1,0\n", [":2: is not a measurement; given 1 +- 0"]),
        (f"{HEADER}1,5 kpps,host_cpu,1,-1\n", [":2: is not a measurement"]),
        (f"{HEADER}1,5 kpps,host_cpu,1 ms,1\n", [":2: value: has the unit 'ms'"]),
        (f"{HEADER}1,5 kpps,host_cpu,1\n", [":2: has a different number of values than columns"]),
        (f"{HEADER}1,5 kpps,host_cpu,1,1\n1,5000 pps,host_cpu,2,1\n", [":3: is measured twice"]),
        (f'{HEADER}"1', [":2: is not CSV"]),
    ],
)
def test_a_fault_has_its_line(scenario: Scenario, text: str, words: list[str]) -> None:
    """The given and the allowed value, and the nearest name."""
    with pytest.raises(InputError) as caught:
        read_measured(measured(text), scenario)
    for word in words:
        assert word in str(caught.value)


def test_all_faults_of_a_file_are_told(scenario: Scenario) -> None:
    """One for each row that has one."""
    with pytest.raises(InputError) as caught:
        read_measured(measured(f"{HEADER}1,5 kpps,host,1,1\n1,5 kpps,loss,0,1\n2,x,loss,0,1\n"), scenario)
    assert [fault.line for fault in caught.value.faults] == [2, 4]


def test_what_is_to_be_predicted_is_a_metric_at_a_point(scenario: Scenario) -> None:
    """The first value of an unnamed axis; anything else is a fault of the option."""
    assert read_prediction("loss@receivers=3", scenario) == ("loss", {"receivers": 3, "rate": "2 kpps"})
    for text, word in (
        ("loss@receiver=3", "'receivers'"),
        ("los@receivers=3", "'loss'"),
        ("loss@receivers", "METRIC@"),
    ):
        with pytest.raises(InputError, match="predict") as caught:
            read_prediction(text, scenario)
        assert word in str(caught.value)

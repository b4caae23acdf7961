"""The public functions, as used in a notebook."""

from __future__ import annotations

import importlib.metadata
import pickle

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import hostsim
from hostsim.campaign.run_option import LENGTH, OPTIONS
from hostsim.results.curve import figure_frame
from hostsim.results.metrics.catalogue import RESERVED
from hostsim.results.table import with_members
from hostsim.units import MOST_SEED
from tests.tiny_scenario import TINY

mpl.use("agg")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("api") / "tiny.yaml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def found(tiny):
    return hostsim.run(tiny, replications=3, jobs=1, results=tiny.parent / "results")


def test_values_are_written_as_one_would_in_python(tiny):
    """Numbers, quantities, lists and ranges; an overridden axis has one value."""

    def values(axis, overrides=None, axes=None):
        return hostsim.load(tiny, overrides, axes).axes[axis].values  # noqa: PD011  of an axis

    assert values("receivers", {"traffic.stream.packet_size": "300 B"}, {"receivers": [1, 3]}) == (1, 3)
    assert values("receivers", axes={"receivers": "1..3"}) == (1, 2, 3)
    assert values("rate", axes={"rate": "2 kpps"}) == ("2 kpps",)
    assert values("receivers", {"vms.receiver.count": 2}) == (2,)
    assert values("receivers", {"network.vSwitch0.uplinks": ["vmnic0"]}) == (1, 2)


def test_a_scenario_shows_its_settings(tiny):
    """Each has its origin."""
    settings = {setting.name: setting for setting in hostsim.load(tiny, {"vms.receiver.count": 2}).settings}
    assert str(settings["traffic.stream.rate"].value) == "2 kpps, 5 kpps"
    assert settings["vms.receiver.count"].origin == "axis receivers"


def test_a_curve_is_a_tidy_frame(found):
    """Axes, mean and interval; as many rows as points."""
    curve = found.curve(x="receivers", y="guest_cpu", by="rate")
    assert list(curve) == ["rate", "receivers", "mean", "low", "high", "runs"]
    assert list(curve["rate"]) == [2000.0, 2000.0, 5000.0, 5000.0]
    assert list(curve["receivers"]) == [1, 2, 1, 2]
    assert curve.attrs["units"]["mean"] == "% of a vCPU"
    assert curve.attrs["units"]["rate"] == "pps"
    rows = found.table[(found.table["rate"] == 5000) & (found.table["receivers"] == 2)]
    assert curve["mean"].iloc[3] == pytest.approx(rows["guest_cpu"].mean())
    assert (curve["low"] <= curve["mean"]).all()
    one = found.curve(x="receivers", y="loss", at={"rate": "5 kpps"})
    assert list(one) == ["receivers", "mean", "low", "high", "runs"]
    assert list(one["runs"]) == [3, 3]


def test_no_axis_may_have_the_name_of_a_column_of_a_frame(found):
    """Of the table, an ensemble's table, curves and their figures, differences and distributions: otherwise a frame has it twice, or the run ends with an error."""
    members = with_members(found.table)
    frames = [found.table, members]
    frames += [figure_frame(table, found.figures[0], ()) for table in (found.table, members)]
    frames += [hostsim.compare(found, found).frame(), found.distribution(by="rate")]
    for frame in frames:
        assert {*frame.columns} - {"rate", "receivers"} <= RESERVED


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"x": "receiver", "y": "loss"}, "did you mean 'receivers'"),
        ({"x": "receivers", "y": "los"}, "did you mean 'loss'"),
        ({"x": "receivers", "y": "loss", "at": {"rate": "3 kpps"}}, "one of 2 kpps, 5 kpps"),
        ({"x": "receivers", "y": "loss", "at": {"receivers": 2}}, "at receivers: has all values .* values of rate"),
        ({"x": "receivers", "y": "loss", "by": "rate", "at": {"rate": "2 kpps"}}, "at rate: has all values"),
    ],
    ids=["axis", "measure", "value", "value of x", "value of a line's axis"],
)
def test_a_curve_of_something_else_is_refused_with_the_nearest_name(found, asked, words):
    """Errors name the arguments of the call."""
    for ask in (found.curve, found.plot):
        with pytest.raises(hostsim.InputError, match=words):
            ask(**asked)


def test_plots_take_and_return_axes(found):
    """A figure of the scenario, a new one, and the time breakdown, side by side."""
    from matplotlib import pyplot as plt

    figure, places = plt.subplots(1, 3)
    assert found.plot(ax=places[0]) is places[0]
    assert found.plot(x="receivers", y="loss", by="rate", kind="bar", ax=places[1]) is places[1]
    assert found.plot_cpu(ax=places[2]) is places[2]
    assert places[1].get_ylabel() == "Packet loss (%)"
    assert found.plot().figure in map(plt.figure, plt.get_fignums())  # a notebook shows it
    plt.close("all")
    del figure
    with pytest.raises(hostsim.InputError, match="cpu"):
        found.plot("cp")
    with pytest.raises(hostsim.InputError, match="a figure's name, or x and y"):
        found.plot("cpu", x="receivers", y="loss")
    with pytest.raises(hostsim.InputError, match="request_response"):
        found.plot_latency()


def test_check_gives_verdicts_that_are_found_by_name_and_put_in_a_frame(tiny):
    """Verdicts of a user's file are found, too."""
    verdicts = hostsim.check(tiny, quick=True, replications=2, jobs=1, results=tiny.parent / "results")
    assert [verdict.expectation.name for verdict in verdicts] == ["nothing lost", "room", "room ratio"]
    assert verdicts.accepted
    kept = verdicts.only("room*").frame()
    assert list(kept["claim"]) == ["room", "room ratio"]
    assert list(kept["verdict"]) == ["pass", "pass"]
    assert kept["value"].dtype == float
    assert "room ratio" in verdicts._repr_html_()


def test_results_compare_with_results_and_with_folders(found, tiny):
    """Against itself nothing moves; against a slower clock CPU does."""
    assert hostsim.compare(found, found) == ()
    slower = hostsim.run(
        tiny,
        overrides={"hardware.cpu.clock": "2 GHz"},
        replications=3,
        jobs=1,
        results=tiny.parent / "results",
    )
    moves = hostsim.compare(found, slower)
    frame = moves.only("guest_cpu").frame()
    assert list(frame["receivers"]) == [1, 1, 2, 2]
    assert (frame["high"] < 0).all()
    assert (frame["after"] - frame["before"]).to_list() == pytest.approx(frame["difference"].to_list())
    assert "guest_cpu" in moves._repr_html_()
    with pytest.raises(hostsim.InputError, match="did you mean 'guest_cpu'"):
        moves.only("guest_cp")


def test_results_show_themselves_with_every_text_escaped(found):
    """A question is text and no markup."""
    from dataclasses import replace

    page = replace(found, question="Is <b>1</b> & 2?", warnings=("<script>",))._repr_html_()
    assert "&lt;b&gt;1&lt;/b&gt; &amp; 2" in page
    assert "<script" not in page
    assert "3 expectations" in page
    assert "wall" not in page  # machine-dependent text does not belong in a stored notebook


def test_where_the_cpu_went_survives_the_folder(found, tmp_path):
    """It is read as it was written, for reports without records."""
    from hostsim.results.folder import write

    write(found, tmp_path)
    kept = hostsim.open_results(tmp_path)
    pd.testing.assert_frame_equal(kept.cpu, found.cpu)
    assert kept.cpu.attrs["units"] == found.cpu.attrs["units"]
    assert kept.verdicts.quick == found.verdicts.quick


def test_records_are_read_from_the_results_folder_when_they_are_asked_for(found):
    """Results do not keep them, and are small enough to be pickled; those requested by searches are included."""
    assert len(found.records) == found.usage.runs >= len(found.table)
    assert found.records[0] is not found.records[0]
    again = pickle.loads(pickle.dumps(found.records))  # noqa: S301  our own bytes
    assert [record.point_id for record in again] == [record.point_id for record in found.records]
    swept = {(record.point_id, record.replication) for record in found.records}
    assert swept >= set(zip(found.table["point"], found.table["replication"], strict=True))


@pytest.mark.parametrize(
    "wrong",
    [{"seed": None}, {"seed": 1.5}, {"seed": -1}, {"seed": 2**64}, {"replications": 1001}, {"replications": 2.0}],
)
def test_numbers_that_cannot_be_are_refused_before_anything_is_run(tiny, wrong):
    """Otherwise each run would fail, or the table at the end."""
    name, value = next(iter(wrong.items()))
    with pytest.raises(hostsim.InputError, match=f"{name}: is out of range; given {value}; allowed: an integer"):
        hostsim.run(tiny, quick=True, **wrong)


def test_the_largest_seed_goes_into_the_table(tiny):
    """Numbers of other libraries count as numbers."""
    found = hostsim.run(
        tiny, quick=True, seed=np.uint64(MOST_SEED), replications=np.int64(1), jobs=1, results=tiny.parent / "results"
    )
    assert found.table["seed"].unique().tolist() == [MOST_SEED]


FIDELITY = {name for name, option in OPTIONS.items() if option.rich_help_panel == LENGTH} - {"seed"}
"""Options that a calibration determines itself."""


@pytest.mark.parametrize("name", ["run", "check", "what_if", "reproduce", "calibrate"])
def test_what_runs_a_sweep_takes_run_options(name):
    """Individually or together; an unknown one is refused with the nearest."""
    function = getattr(hostsim, name)
    for given in ({"seed": -1}, {"options": hostsim.RunOptions(results="elsewhere"), "seed": -1}):
        with pytest.raises(hostsim.InputError, match=r"^seed: is out of range"):
            function("nothing", **given)
    with pytest.raises(TypeError, match=f"{name}.*unexpected keyword argument 'job'; did you mean 'jobs'"):
        function("nothing", job=2)


@pytest.mark.parametrize("option", sorted(FIDELITY))
def test_a_calibration_refuses_options_that_it_would_not_follow(tiny, option):
    """Its runs are quick ones, one replication per host: other requests were ignored silently."""
    with pytest.raises(TypeError, match=f"calibrate.*unexpected keyword argument {option!r}"):
        hostsim.calibrate(tiny, **{option: 1})
    with pytest.raises(TypeError, match=f"calibrate.*unexpected keyword argument {option!r}"):
        hostsim.calibrate(tiny, options=hostsim.RunOptions(**{option: "shipped" if option == "ensemble" else 1}))


def test_a_limit_is_a_number_or_a_quantity(tiny):
    """A time that is too short fails every run, in any notation; an invalid time is refused."""
    asked = {"quick": True, "jobs": 1, "axes": {"receivers": 1, "rate": "2 kpps"}}
    for limit in (0.001, "1 ms"):
        found = hostsim.run(tiny, max_time=limit, max_memory="8 GB", results=tiny.parent / "limits", **asked)
        assert len(found.failed) == len(found.table) == 1
    with pytest.raises(hostsim.InputError, match=r"^max_time: has the unit 'GB'"):
        hostsim.run(tiny, max_time="2 GB", **asked)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"x": "receivers", "y": "hst_cpu"}, r"^y: unknown metric; given hst_cpu; .*a column of the table.*'host_cpu'"),
        ({"x": "recivers", "y": "host_cpu"}, r"^x: unknown axis; given recivers; .*'receivers'"),
        ({"x": "receivers", "y": "host_cpu", "by": "splt"}, r"^by: unknown axis; given splt"),
    ],
)
def test_names_that_a_plot_does_not_know_are_told_by_its_arguments(found, asked, said):
    """They are not reported as names of a figure in a file, which does not exist."""
    for method in (found.plot, found.curve):
        with pytest.raises(hostsim.InputError, match=said):
            method(**asked)


def test_numbers_of_quantities_are_in_their_base_unit(tiny, found):
    """In axes, overrides and changes, on the file's axes and on paths, also in components; the table has numbers and their unit."""
    rates = hostsim.load(tiny, axes={"rate": [2000, np.float64(5e3)]})
    assert rates.axis_texts == {"rate": "2000 pps, 5000 pps"}
    labelled = hostsim.load("directpath-udp", axes={"rate": [1e4, 100_000]}).axes["rate"]
    assert list(labelled.values) == ["10 kpps", "100 kpps"]
    changed = hostsim.load(tiny, {"traffic.stream.rate": 3e3, "hardware.cpu.clock": 2e9}).overrides
    assert changed == {"traffic.stream.rate": "3000 pps", "hardware.cpu.clock": "2000000000 Hz"}
    assert "rate = 5 kpps" in hostsim.load(tiny).host({"rate": 5000}).svg
    assert found.table["rate"].dtype == float
    assert found.table.attrs["units"]["rate"] == "pps"
    same = [found.curve(x="receivers", y="host_cpu", at={"rate": rate}) for rate in (5000, "5 kpps", "0.005 Mpps")]
    for curve in same[1:]:
        pd.testing.assert_frame_equal(curve, same[0])
    with pytest.raises(hostsim.InputError, match="has no unit"):
        hostsim.load(tiny, axes={"rate": "5000"})


@pytest.mark.parametrize(
    "values",
    [np.array([1000, 2500]), np.array([1e3, 2.5e3]), pd.Series([1000, 2500]), [1000.0, np.float64(2500)], "1000, 2500"],
    ids=["integers", "numbers", "series", "floats", "text"],
)
def test_values_of_an_axis_are_numbers_of_any_kind(values):
    """A whole number is an integer for a setting that takes one."""
    axis = hostsim.load("first-sweep", axes={"interrupts": values}).axes["interrupts"]
    assert axis.steps == ((1000,), (2500,))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda tiny, _: hostsim.load(tiny, axes={"receivers": np.array([[1, 2]])}),
            r"axes\['receivers'\]: is not a list",
        ),
        (lambda tiny, _: hostsim.load(tiny, axes={"receivers": None}), r"axes\['receivers'\]: is not a list of values"),
        (lambda tiny, _: hostsim.load("first-sweep", axes={"interrupts": 1000.5}), "is not an integer; given 1000.5"),
        (lambda tiny, _: hostsim.run(tiny, axes=["receivers"]), "^axes: is not a mapping; given"),
        (lambda tiny, _: hostsim.run(tiny, overrides="a=b"), "^overrides: is not a mapping; given 'a=b'"),
        (lambda tiny, _: hostsim.what_if(tiny, costs="a=b"), "^costs: is not a mapping"),
        (lambda tiny, _: hostsim.run(None), "^scenario: is not a scenario; given NoneType None"),
        (lambda tiny, _: hostsim.check(None), "^scenario: is not a scenario"),
        (lambda _, found: hostsim.compare(found, found, tolerance="2 %"), "^tolerance: is not a share; given '2 %'"),
        (lambda _, found: hostsim.compare(found, found, tolerance=-1), "^tolerance: is not a share; given -1"),
    ],
)
def test_arguments_of_another_type_are_bad_input(tiny, found, call, said):
    """The error names the argument; no traceback comes from inside."""
    with pytest.raises(hostsim.InputError, match=said):
        call(tiny, found)


def test_results_are_saved_opened_and_reported(found, tiny, tmp_path):
    """Opened results have everything that the run returned: records from the store, in order, with axes and flags."""
    files = found.save(tiny.parent / "results" / "tiny")
    assert {"table.csv", "runs.parquet", "cpu.svg"} <= {file.name for file in files}
    kept = hostsim.open_results(tiny.parent / "results" / "tiny")
    assert len(kept.records) == len(found.records)
    for mine, its in zip(kept.records, found.records, strict=True):
        assert (mine.point_id, mine.replication, mine.axes, mine.flags) == (
            its.point_id,
            its.replication,
            its.axes,
            its.flags,
        )
    pd.testing.assert_frame_equal(hostsim.contexts(kept.records[-1]), hostsim.contexts(found.records[-1]))
    pd.testing.assert_frame_equal(kept.table, found.table)
    assert kept.table.attrs == found.table.attrs
    assert "Does it run?" in kept.report(tmp_path / "page.html").read_text()
    found.save(tmp_path / "elsewhere")
    alone = hostsim.open_results(tmp_path / "elsewhere", results=tmp_path)
    with pytest.raises(hostsim.StoreError, match=r"`hostsim run .*tiny\.yaml` runs it again"):
        alone.records[0]


def test_a_sweep_is_a_dataset(found):
    """The axes of the scenario as dimensions, its question as an attribute."""
    cpu = found.to_xarray()["host_cpu"]
    assert cpu.sizes == {"receivers": 2, "rate": 2, "replication": 3}
    assert cpu.sel(rate=5000, receivers=2).mean() == pytest.approx(
        found.curve(x="receivers", y="host_cpu", at={"rate": 5000})["mean"].iloc[1]
    )
    assert found.to_xarray().attrs["question"] == "Does it run?"


def test_a_record_shows_itself_in_ten_lines(found):
    """Axes, window and counters, the same on every machine."""
    record = next(record for record in found.records if record.axes == {"receivers": 1, "rate": "2 kpps"})
    shown = repr(record)
    assert len(shown.splitlines()) <= 10
    assert "axes: receivers=1, rate=2 kpps\n" in shown
    assert "wall" not in shown
    assert repr(record.series["pcpu.busy_ps"]) == "<Series of 16 entities at 129 boundaries>"


def test_the_version_is_that_of_the_package():
    """For reports of bugs and for environments."""
    assert hostsim.__version__ == importlib.metadata.version("hostsim")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"overrides": {"vms.receiver.cuont": 2}}, r"^overrides\['vms.receiver.cuont'\]: there is no such path"),
        ({"axes": {"receiver": 2}}, r"^axes\['receiver'\]: unknown axis; .*did you mean 'receivers'"),
        ({"axes": {"traffic.stream.rate": 2000}}, r"is already varied; allowed: values for the axis rate"),
        ({"max_memory": "2 parsecs"}, "^max_memory: has the unit 'parsecs'"),
    ],
)
def test_faults_name_the_arguments_of_python(tiny, asked, words):
    """A caller of a function has not typed an option."""
    with pytest.raises(hostsim.InputError, match=words):
        hostsim.run(tiny, **asked)

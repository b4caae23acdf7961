"""A table as a dataset with a cell for each run by its axes, and units; needs xarray from the extra."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from hostsim.errors import InputError
from hostsim.results import table as dataset
from hostsim.results.table import to_dataset
from tests.results.sample_runs import run
from tests.tables import to_table


@pytest.fixture
def table():
    points = [{"rate": rate, "mode": mode} for rate in ("200 kpps", "50 kpps") for mode in ("on", "off")]
    records = [replace(run(**axes), replication=r) for axes in points[:3] for r in (0, 1)]
    found = to_table(records, provenance={"scenario": "mine"})
    found["loss"] = np.arange(6.0)
    return found


def test_each_run_has_its_place(table) -> None:
    """By numbers in the unit of the axis, sorted; text in the order of the sweep; NaN without a run."""
    import xarray

    made = to_dataset(table)
    assert isinstance(made, xarray.Dataset)
    assert made["loss"].dims == ("rate", "mode", "replication")
    assert made["rate"].to_numpy().tolist() == [50_000.0, 200_000.0]
    assert made["mode"].to_numpy().tolist() == ["on", "off"]
    assert made["loss"].sel(rate=200_000, mode="off").to_numpy().tolist() == [2.0, 3.0]
    assert made["loss"].sel(rate=50_000, mode="on", replication=1) == 5.0
    assert made["loss"].sel(rate=50_000, mode="off").isnull().all()
    assert made["error"].sel(rate=50_000, mode="off", replication=0) == ""


def test_coordinates_and_measures_have_units(table) -> None:
    """Units are stored as xarray's plots expect them; the dataset has its provenance."""
    made = to_dataset(table)
    assert made["rate"].attrs == {"units": "pps"}
    assert made["loss"].attrs["units"] == "%"
    assert made["loss"].attrs["long_name"] == "Packet loss"
    assert made.attrs["scenario"] == "mine"


def test_axes_that_are_not_crossed_are_refused_where_they_span_too_much(table, monkeypatch) -> None:
    """Before memory is full."""
    monkeypatch.setattr(dataset, "MOST_CELLS", 7)
    with pytest.raises(InputError, match="has too many cells; given 2 x 2 x 2; allowed: at most 7"):
        to_dataset(table)


def test_without_xarray_the_extra_is_named(table, monkeypatch) -> None:
    """An ImportError would not explain it."""
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"needs the package xarray; allowed: after pip install 'hostsim\[xarray\]'"):
        to_dataset(table)

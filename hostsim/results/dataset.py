"""Dataset of a sweep: the table as an `xarray.Dataset`, with a dimension for each axis and one for replications."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hostsim.errors import Fault, InputError
from hostsim.metrics.catalogue import CATALOGUE
from hostsim.metrics.label import label_of
from hostsim.results.table import axes_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_CELLS", "to_dataset"]

MOST_CELLS = 2_000_000
"""Most places of a dataset, runs or not: a sweep whose axes are not all crossed fills few of them."""
_TEXTS = ("point", "bottleneck", "flags", "error")


def to_dataset(table: pd.DataFrame) -> Any:
    """The dataset of a result table.

    Numeric axes are sorted, so that ``sel`` with a slice and ``interp`` work; others keep the order of the sweep.

    Args:
        table: one row a point and replication, see `hostsim.results.table.table_of`.

    Returns:
        An ``xarray.Dataset`` with a variable for each column of the table. Coordinates and variables have ``units`` and measures
        ``long_name`` and ``description`` in their ``attrs``; where there is no run a number is NaN and a text empty.

    Raises:
        InputError: xarray is not installed, or the axes span too many places.
    """
    try:
        import xarray
    except ModuleNotFoundError as error:
        if error.name != "xarray":
            raise
        allowed = "after pip install 'hostsim[xarray]'"
        raise InputError(Fault("needs the package xarray", "to_xarray", allowed=allowed)) from None

    dimensions = [*axes_of(table), "replication"]
    values = [_coordinate(table[name]) for name in dimensions]
    shape = tuple(len(one) for one in values)
    if math.prod(shape) > MOST_CELLS:
        raise InputError(
            Fault("spans too many places", "to_xarray", " x ".join(map(str, shape)), f"at most {MOST_CELLS}")
        )
    ranks = [{value: rank for rank, value in enumerate(one)} for one in values]
    place = tuple(table[name].map(rank).to_numpy() for name, rank in zip(dimensions, ranks, strict=True))
    units = table.attrs.get("units", {})
    made = xarray.Dataset(coords={name: (name, one) for name, one in zip(dimensions, values, strict=True)})
    for name in table.columns.difference([*dimensions, "seed"], sort=False):
        is_text = name in _TEXTS or table[name].dtype.kind not in "fiu"
        cells = np.full(shape, "", dtype=object) if is_text else np.full(shape, np.nan)
        cells[place] = table[name].fillna("").astype(str) if is_text else table[name].astype("float64")
        made[name] = (dimensions, cells.astype(str) if is_text else cells)
    for name in (*dimensions, *made.data_vars):
        made[name].attrs |= {"units": units[name]} if units.get(name) else {}
        if name in CATALOGUE:
            made[name].attrs |= {"long_name": label_of(name), "description": CATALOGUE[name].meaning}
    made.attrs = {**table.attrs.get("provenance", {})}
    return made


def _coordinate(column: pd.Series[Any]) -> Sequence[Any]:
    """The values of an axis, each once: numbers in order, others in that of the sweep."""
    values = list(dict.fromkeys(column))
    is_number = column.dtype.kind in "fiu"
    return sorted(values) if is_number else values

"""Axis columns of tables: quantities as numbers in a base unit (``rate`` in pps), and as the scenario writes them.

Tables that users see have numbers. Figures, reports and comparisons name points as the scenario does (``rate=40 kpps``) and read
`as_written`, which is what a table keeps in ``attrs["written"]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from hostsim.quantity import common_unit, number_in
from hostsim.record import Scalar

__all__ = ["as_numbers", "as_written", "is_value"]


def as_numbers(table: pd.DataFrame, axes: Iterable[str]) -> pd.DataFrame:
    """The table with axes of quantities as numbers; their unit is in ``attrs["units"]``, their texts in ``attrs["written"]``.

    An axis whose values are not all quantities of one kind stays as it is.

    Args:
        table: with axes as the scenario writes them.
        axes: columns.
    """
    columns: dict[str, Any] = {}
    units, written = dict(table.attrs.get("units", {})), dict(table.attrs.get("written", {}))
    for axis in axes:
        texts = list(dict.fromkeys(table[axis]))
        unit = common_unit(texts)
        if unit:
            columns[axis] = table[axis].map({text: number_in(unit, text) for text in texts}).astype("float64")
            units[axis], written[axis] = unit, [str(text) for text in texts]
    made = table.assign(**columns) if columns else table.copy(deep=False)
    made.attrs = {**table.attrs, **({"units": units, "written": written} if columns else {})}
    return made


def as_written(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its axes as the scenario writes them; the same table where they are so already."""
    columns = {}
    for axis, texts in table.attrs.get("written", {}).items():
        if axis in table.columns and pd.api.types.is_numeric_dtype(table[axis]):
            unit = common_unit(texts)
            by_number = {number_in(unit, text): text for text in texts}
            columns[axis] = [by_number.get(value, f"{value:.12g} {unit}") for value in table[axis]]
    if not columns:
        return table
    made = table.assign(**columns)
    made.attrs = {name: kept for name, kept in table.attrs.items() if name != "written"}
    return made


def is_value(column: Sequence[Scalar] | pd.Series[Any], value: Scalar) -> pd.Series[Any]:
    """Mask of the rows of an axis as written that have a value: ``40 kpps``, ``40000 pps``, 40000 of an axis in pps, ``1`` or ``"1"``."""
    texts = pd.Series(column).astype(str)
    unit = common_unit(texts.unique())
    number = number_in(unit, value) if unit else None
    if number is None:
        return texts == str(value)
    return texts.map({text: number_in(unit, text) == number for text in texts.unique()})

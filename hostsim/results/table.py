"""Result tables: one row for each run, as tidy pandas frames with axis columns, or as an `xarray.Dataset`."""

from __future__ import annotations

import importlib.metadata
import json
import math
import platform
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hostsim.config.files import write_whole
from hostsim.config.quantity import common_unit, number_in, quantity_text
from hostsim.engine import compiled
from hostsim.engine.record import AxisValues, FloatArray, RunRecord, Scalar
from hostsim.errors import Fault, InputError, StoreError
from hostsim.results.estimate import DETERMINISTIC, digest_of, equal_replications, member_of
from hostsim.results.integrity import require_small_table, require_small_text
from hostsim.results.metrics.catalogue import CATALOGUE, FACTS, MEMBER, WINDOW, label_of
from hostsim.units import SECOND

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MOST_CELLS",
    "WALL_CLOCK",
    "TableRow",
    "as_numbers",
    "as_written",
    "axes_of",
    "is_of_ensemble",
    "is_value",
    "read_table",
    "table_of",
    "table_row",
    "to_dataset",
    "with_members",
    "write_table",
]


class _Kept(dict[str, Any]):
    """Attribute of a table. pandas copies attributes deeply whenever it selects a column, for which texts need no copy each."""

    def __deepcopy__(self, memo: object) -> _Kept:
        return _Kept(self)


def as_numbers(table: pd.DataFrame, axes: Iterable[str]) -> pd.DataFrame:
    """The table with axes of quantities as numbers; ``attrs`` have their ``units`` and texts (``written``).

    An axis whose values are not all quantities of one kind is unchanged.

    Args:
        table: with axes as in the scenario.
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
    copied = table.assign(**columns) if columns else table.copy(deep=False)
    copied.attrs = {**table.attrs, **({"units": _Kept(units), "written": _Kept(written)} if columns else {})}
    return copied


def as_written(table: pd.DataFrame) -> pd.DataFrame:
    """The table with axes as in the scenario; unchanged if they are already."""
    import pandas as pd  # seldom needed by workers, which import this module

    columns = {}
    for axis, texts in table.attrs.get("written", {}).items():
        if axis in table.columns and pd.api.types.is_numeric_dtype(table[axis]):
            unit = common_unit(texts)
            by_number = {number_in(unit, text): text for text in texts}
            columns[axis] = [by_number.get(value, f"{value:.12g} {unit}") for value in table[axis]]
    if not columns:
        return table
    copied = table.assign(**columns)
    copied.attrs = {name: kept for name, kept in table.attrs.items() if name != "written"}
    return copied


def is_value(column: Sequence[Scalar] | pd.Series[Any], value: Scalar) -> pd.Series[Any]:
    """Mask of the rows with an axis value: ``40 kpps``, ``40000 pps``, 40000 or ``"40000"`` for an axis in pps."""
    import pandas as pd  # seldom needed by workers, which import this module

    texts = pd.Series(column).astype(str)
    unit = common_unit(texts.unique())
    number = number_in(unit, quantity_text(value, unit)) if unit else None
    if number is None:
        return texts == str(value)
    return texts.map({text: number_in(unit, text) == number for text in texts.unique()})


WALL_CLOCK = ("wall_s",)
"""Columns that differ between repetitions of a run; all others are equal."""

_MEASURED = (*CATALOGUE, *WINDOW)
_KNOWN = (*FACTS, "bottleneck")
_ATTRIBUTES = ("units", "provenance", "written")
"""Attributes of a table that its file stores."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """Row of a result table: data of one run."""

    point: str
    replication: int
    seed: int
    axes: AxisValues
    measured: array[float]
    """Metrics of the catalogue, start and end of the window."""
    facts: tuple[Any, ...]
    """Facts of the run, and its bottleneck."""
    flags: tuple[str, ...]
    error: str
    digest: bytes
    """Digest of a finished run, see `hostsim.results.curve`; empty unless it is compared with another one."""
    of_subjects: tuple[float, ...] = ()
    """Measures of subjects, see `table_of`."""


def table_of(
    rows: Sequence[TableRow], provenance: Mapping[str, str] | None = None, of_subjects: Sequence[str] = ()
) -> pd.DataFrame:
    """Result table with one row for each run, in the order given.

    Columns: ``point``, ``replication``, ``seed``; the axes; every metric of the catalogue; ``cut_s`` and ``length_s``, start
    and end of the measured window; ``events`` and ``run_dispatches`` of the whole run; ``wall_s``; ``bottleneck``
    (`hostsim.results.bottleneck`); ``flags``, joined by semicolons, with ``deterministic`` if all replications of the point are equal; ``error``, empty unless the run failed. A failed run has NaN in all its metrics. An axis of quantities
    has numbers in the base unit of its kind (``rate`` in pps); one with values of several kinds becomes text.

    ``attrs["units"]`` maps a column to its unit, ``attrs["written"]`` an axis of quantities to their texts; ``attrs["provenance"]`` has versions and options.

    Args:
        rows: of finished and failed runs.
        provenance: of the table, besides versions and seeds.
        of_subjects: names of measures of subjects in the rows: columns after those of the host.
    """
    import pandas as pd  # seldom needed by workers, which import this module

    axes = list(dict.fromkeys(name for row in rows for name in row.axes))
    columns: dict[str, Sequence[Any] | FloatArray] = {
        "point": [row.point for row in rows],
        "replication": [row.replication for row in rows],
        "seed": [row.seed for row in rows],
    }
    columns |= {axis: _axis([row.axes.get(axis) for row in rows]) for axis in axes}
    measured = np.array([row.measured for row in rows], dtype=np.float64).reshape(-1, len(_MEASURED))
    columns |= dict(zip(CATALOGUE, measured.T[: len(CATALOGUE)], strict=True))
    columns |= {name: [row.of_subjects[index] for row in rows] for index, name in enumerate(of_subjects)}
    columns |= dict(zip(WINDOW, measured.T[len(CATALOGUE) :], strict=True))
    columns |= {name: [row.facts[index] for row in rows] for index, name in enumerate(_KNOWN)}
    columns |= {"flags": list(_flags(rows)), "error": [row.error for row in rows]}
    table = pd.DataFrame(columns)
    units = {metric.name: metric.unit for metric in CATALOGUE.values()} | WINDOW | FACTS
    table.attrs["units"] = _Kept(units | {name: CATALOGUE[name].unit for name in of_subjects})
    table = as_numbers(table, axes)
    seeds = ", ".join(str(seed) for seed in sorted(set(columns["seed"])))
    table.attrs["provenance"] = _Kept({**_versions(), "seed": seeds, **(provenance or {})})
    return table


def axes_of(table: pd.DataFrame) -> list[str]:
    """The axis columns of a table, between the run's key and the measures."""
    names = list(table.columns)
    first = names.index("seed") + 1
    return names[first : next(i for i, name in enumerate(names) if i >= first and name in CATALOGUE)]


def with_members(table: pd.DataFrame, number_of: Callable[[int], int] = member_of) -> pd.DataFrame:
    """The table of an ensemble, with the column ``member``, the number of each replication's host, before ``seed``."""
    copied = table.copy(deep=False)
    copied.insert(list(table.columns).index("seed"), MEMBER, table["replication"].map(number_of))
    return copied


def is_of_ensemble(table: pd.DataFrame) -> bool:
    """True for a table whose replications run several hosts."""
    return MEMBER in table.columns and MEMBER not in axes_of(table)


def table_row(record: RunRecord, limit: str, *, single: bool, of_subjects: Sequence[str]) -> TableRow:
    """Row of a run.

    Args:
        record: a finished or failed run.
        limit: its bottleneck in words; empty for a failed run.
        single: True for the only run of its point.
        of_subjects: names of measures of subjects.
    """
    finished = record.error is None
    measured = array("d", [metric.evaluate(record) if finished else math.nan for metric in CATALOGUE.values()])
    measured.extend(int(record.instants_ps[index]) / SECOND if finished else math.nan for index in (record.cut, -1))
    facts = [record.facts.get(fact, math.nan) for fact in ("events", "dispatches", "wall_s")]
    return TableRow(
        point=record.point_id,
        replication=record.replication,
        seed=record.seed,
        axes=record.axes,
        measured=measured,
        facts=(*facts, sys.intern(limit)),
        flags=record.flags,
        error=record.error or "",
        digest=digest_of(record) if finished and not single else b"",
        of_subjects=tuple(CATALOGUE[name].evaluate(record) if finished else math.nan for name in of_subjects),
    )


def _flags(rows: Sequence[TableRow]) -> Iterator[str]:
    """The column of flags of runs and of deterministic points; failed runs, which have no digest, are ignored."""
    digests: dict[str, list[bytes]] = {}
    for row in rows:
        if row.digest:
            digests.setdefault(row.point, []).append(row.digest)
    equal = {point: equal_replications(replications) for point, replications in digests.items()}
    for row in rows:
        count = equal.get(row.point, 0) if row.digest else 0
        more = (f"{DETERMINISTIC}: {count} replications equal",) if count else ()
        yield "; ".join(filter(None, ("; ".join(row.flags), *more)))


def _axis(values: Sequence[Any]) -> Sequence[Any]:
    kinds = {bool if isinstance(v, bool) else float if isinstance(v, int | float) else type(v) for v in values}
    return values if len(kinds) == 1 else [None if value is None else str(value) for value in values]


def _versions() -> dict[str, str]:
    libraries = {name: importlib.metadata.version(name) for name in ("hostsim", "numpy", "simpy")}
    return {**libraries, "python": platform.python_version(), "simulator": compiled.kind()}


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table of `table_of` as Parquet, atomically; the schema's metadata have units and provenance.

    Raises:
        StoreError: the file cannot be written.
    """
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    attributes = {f"hostsim.{name}": json.dumps(table.attrs.get(name, {})) for name in _ATTRIBUTES}
    content = pa.BufferOutputStream()
    arrow = arrow.replace_schema_metadata({**arrow.schema.metadata, **attributes})
    pq.write_table(arrow, content, compression="zstd")
    write_whole(path, content.getvalue().to_pybytes())


def read_table(path: Path) -> pd.DataFrame:
    """Read a table that `write_table` wrote, including units and provenance.

    Raises:
        StoreError: the table is missing or unreadable.
    """
    try:
        arrow = _read_small(path)
        metadata = arrow.schema.metadata or {}
        attributes = {name: _Kept(json.loads(metadata[f"hostsim.{name}".encode()])) for name in _ATTRIBUTES}
    except KeyError as error:
        raise StoreError(f"{path}: is not a table of hostsim") from error
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{path}: the table cannot be read: {str(error).splitlines()[0]}") from error
    table: pd.DataFrame = arrow.to_pandas()
    table.attrs.update({name: kept for name, kept in attributes.items() if kept or name != "written"})
    return table


def _read_small(path: Path) -> pa.Table:
    """A flat table within the memory limit, since a text common to all rows takes no space in the file.

    Raises:
        StoreError: it is too large, or not flat.
    """
    with pq.ParquetFile(path) as file:
        require_small_table(path, file.metadata)
        schema = file.schema_arrow
    if any(pa.types.is_nested(field.type) for field in schema):
        raise StoreError(f"{path}: is not a table of hostsim")
    texts = {field.name: field.type for field in schema if field.type in (pa.string(), pa.large_string())}
    with pq.ParquetFile(path, read_dictionary=list(texts)) as file:
        arrow = file.read()
    for name, kind in texts.items():
        index = arrow.schema.get_field_index(name)
        lengths = (pc.take(pc.binary_length(chunk.dictionary), chunk.indices) for chunk in arrow[name].chunks)
        require_small_text(path, sum(pc.sum(chunk).as_py() or 0 for chunk in lengths))
        arrow = arrow.set_column(index, pa.field(name, kind), arrow[name].cast(kind))
    return arrow


MOST_CELLS = 2_000_000
"""Largest number of cells of a dataset, including empty ones of missing axis combinations."""
_TEXTS = ("point", "bottleneck", "flags", "error")


def to_dataset(table: pd.DataFrame) -> Any:
    """The dataset of a result table.

    Numeric axes are sorted, so that ``sel`` with a slice and ``interp`` work; others keep the order of the sweep.

    Args:
        table: one row for each point and replication, see `hostsim.results.table.table_of`.

    Returns:
        An ``xarray.Dataset`` with a variable for each column of the table. Coordinates and variables have ``units`` and measures
        ``long_name`` and ``description`` in their ``attrs``; without a run a number is NaN and a text empty.

    Raises:
        InputError: xarray is not installed, or the axes have too many combinations.
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
    shape = tuple(len(column) for column in values)
    if math.prod(shape) > MOST_CELLS:
        raise InputError(Fault("has too many cells", "to_xarray", " x ".join(map(str, shape)), f"at most {MOST_CELLS}"))
    ranks = [{value: rank for rank, value in enumerate(column)} for column in values]
    indices = tuple(table[name].map(rank).to_numpy() for name, rank in zip(dimensions, ranks, strict=True))
    units = table.attrs.get("units", {})
    dataset = xarray.Dataset(coords={name: (name, column) for name, column in zip(dimensions, values, strict=True)})
    for name in table.columns.difference([*dimensions, "seed"], sort=False):
        is_text = name in _TEXTS or table[name].dtype.kind not in "fiu"
        cells = np.full(shape, "", dtype=object) if is_text else np.full(shape, np.nan)
        cells[indices] = table[name].fillna("").astype(str) if is_text else table[name].astype("float64")
        dataset[name] = (dimensions, cells.astype(str) if is_text else cells)
    for name in (*dimensions, *dataset.data_vars):
        dataset[name].attrs |= {"units": units[name]} if units.get(name) else {}
        if name in CATALOGUE:
            dataset[name].attrs |= {"long_name": label_of(name), "description": CATALOGUE[name].meaning}
    dataset.attrs = {**table.attrs.get("provenance", {})}
    return dataset


def _coordinate(column: pd.Series[Any]) -> Sequence[Any]:
    """The distinct values of an axis: numbers sorted, others in the order of the sweep."""
    values = list(dict.fromkeys(column))
    is_number = column.dtype.kind in "fiu"
    return sorted(values) if is_number else values

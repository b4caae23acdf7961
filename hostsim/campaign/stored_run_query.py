"""Query over the stored runs of all scenarios: one row for each run, selected by scenario and parameters."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostsim.campaign.stored_run import RunHead, RunId, StoredRun
from hostsim.campaign.stored_run import stored_runs as runs_in
from hostsim.engine.record import RunRecord, Scalar
from hostsim.errors import Fault, InputError, StoreError, nearest_name
from hostsim.scenario.plan import simulated

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["saved_runs", "stored_runs"]


@dataclass(frozen=True)
class _Found:
    """A stored run with a readable file."""

    run: StoredRun
    head: RunHead

    @property
    def scenario(self) -> str:
        return "" if self.head.origin is None else self.head.origin.scenario

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """Parameters by path; only the axes if the file has no more."""
        return self.head.axes if self.head.origin is None else self.head.origin.parameters

    @property
    def named(self) -> Mapping[str, Scalar]:
        """Values by path and by name of axis."""
        return {**self.head.axes, **self.parameters}


def stored_runs(
    where: Mapping[str, Scalar | Sequence[Scalar]] | None = None,
    *,
    scenario: str = "*",
    metrics: Sequence[str] | None = None,
    results: str | Path = "results",
    all_versions: bool = False,
) -> pd.DataFrame:
    """Find stored runs by scenario and parameters: one row for each stored run, whichever command made it.

    Args:
        where: values, or lists of values, by dotted path (``{"platform": "esxi-5.0", "traffic.stream.rate": "40 kpps"}``) or by name
            of an axis (``{"receivers": [8, 16]}``). A number is in the base unit of a quantity.
        scenario: name or pattern of names (``dense-*``) of the requesting scenarios. A shared run has the name of the first
            scenario.
        metrics: measures of the catalogue to compute; all by default; ``[]`` reads no record.
        results: folder that stores every run.
        all_versions: include runs of other versions of the code, which no command reuses.

    Returns:
        Columns ``scenario``, ``code``, ``point``, ``replication``, ``seed``, ``stored`` (time), ``bytes`` (of the file) and ``error``; a
        column for each parameter of ``where`` and for each in which the runs differ, by path; a column for each measure. Quantities
        are numbers in their base unit, with the units in ``attrs["units"]``. Parameters that are equal in all rows are in
        ``attrs["parameters"]``. Unreadable files are left out.

    Raises:
        InputError: no stored run has such a parameter, or a measure is unknown.
    """
    wanted = dict(where or {})
    names = _metrics(metrics)
    found = [
        _Found(run, head)
        for run in runs_in(Path(results))
        if (all_versions or run.is_usable) and (head := run.head()) is not None
    ]
    known = list(dict.fromkeys(name for one in found for name in one.named))
    unknown = [name for name in wanted if name not in known]
    if unknown and found:
        allowed = "a dotted path, or an axis of a scenario"
        raise InputError(
            Fault("no stored run has this parameter", "where", repr(name), allowed, nearest_name(name, known))
            for name in unknown
        )
    found = [one for one in found if fnmatch.fnmatchcase(one.scenario, scenario) and _fits(one.named, wanted)]
    return _frame(found, list(wanted), names)


def saved_runs(results: Path) -> set[RunId]:
    """The runs that saved results in a results folder refer to; folders that this version cannot open count as empty.

    Args:
        results: the results folder, with a folder for each scenario.
    """
    from hostsim.results.folder import read

    needed: set[RunId] = set()
    for place in sorted(results.glob("*/results.json")):
        try:
            kept = read(place.parent)
        except StoreError:
            continue
        keys = kept.runs[["point", "replication", "seed"]].itertuples(index=False, name=None)
        code = str(kept.provenance.get("code", ""))
        # earlier versions stored a run for each point, even for equal simulations
        needed |= {(code, (p, int(r), int(seed))) for point, r, seed in keys for p in (simulated(point), point)}
    return needed


def _metrics(asked: Sequence[str] | None) -> list[str]:
    from hostsim.results.metrics.catalogue import CATALOGUE, nearest_metric

    if asked is None:
        return list(CATALOGUE)
    unknown = [name for name in asked if name not in CATALOGUE]
    if unknown:
        raise InputError(
            Fault("unknown metric", "metrics", repr(name), "a name of hostsim.CATALOGUE", nearest_metric(name))
            for name in unknown
        )
    return list(asked)


def _fits(values: Mapping[str, Scalar], wanted: Mapping[str, Scalar | Sequence[Scalar]]) -> bool:
    from hostsim.results.table import is_value

    for name, asked in wanted.items():
        if name not in values:
            return False
        choices = [asked] if isinstance(asked, Scalar) else asked
        if not any(bool(is_value([values[name]], choice).iloc[0]) for choice in choices):
            return False
    return True


def _frame(found: Sequence[_Found], asked: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    from hostsim.results.metrics.catalogue import CATALOGUE
    from hostsim.results.table import as_numbers

    paths = list(dict.fromkeys(path for one in found for path in one.parameters))
    values = {path: [one.named.get(path) for one in found] for path in dict.fromkeys([*asked, *paths])}
    shown = [path for path, column in values.items() if path in asked or len(set(map(str, column))) > 1]
    columns: dict[str, Any] = {
        "scenario": [one.scenario for one in found],
        "code": [one.run.code for one in found],
        "point": [one.run.key[0] for one in found],
        "replication": [one.run.key[1] for one in found],
        "seed": [one.run.key[2] for one in found],
        "stored": pd.to_datetime([one.run.stored for one in found], unit="s", utc=True),
        "bytes": [one.run.bytes for one in found],
    }
    records = (one.run.record() if metrics or one.head.has_failed else None for one in found)
    measured = [_measured(record, metrics) for record in records]
    columns |= {"error": [error for error, _ in measured]}
    columns |= {path: values[path] for path in shown}
    columns |= {name: [row[place] for _, row in measured] for place, name in enumerate(metrics)}
    frame = pd.DataFrame(columns)
    frame.attrs["units"] = {"bytes": "B"} | {name: CATALOGUE[name].unit for name in metrics}
    frame.attrs["parameters"] = {path: column[0] for path, column in values.items() if path not in shown}
    return as_numbers(frame, shown)


def _measured(record: RunRecord | None, metrics: Sequence[str]) -> tuple[str, list[float]]:
    """The error of a run and its measures; NaN if it failed."""
    from hostsim.results.metrics.catalogue import CATALOGUE

    if record is None or record.error is not None:
        return (record.error or "") if record is not None else "", [float("nan")] * len(metrics)
    return "", [CATALOGUE[name].evaluate(record) for name in metrics]

"""Results folder of a scenario: tables as Parquet and CSV, facts as JSON.

A sweep writes it completely; plots and reports read it and run nothing::

    table.parquet  table.csv     one row for each point and replication
    contexts.parquet the busiest contexts of each point
    cpu.parquet                  CPU time of each point by kind and owner
    bottlenecks.parquet bottlenecks of each point and its subjects, with the reason
    subjects.parquet             measures of each VM group or traffic entry, if there are several
    runs.parquet                 references to the runs in the store
    results.json                 question, figures, verdicts, settings, assumptions, provenance, cost
    figures/NAME.svg  .png  drawn by `hostsim.views.report.folder`, .pdf on demand
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import shlex
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostsim.config.files import write_whole
from hostsim.errors import StoreError
from hostsim.results.claim import Citation, Publication
from hostsim.results.expect import TAGGED, Band, Expectation, KnownRed, PredictionInterval, Verdict, VerdictState
from hostsim.results.figure import AnswersSpec, AxisNames, Figure, FigureSpec, TableSpec
from hostsim.results.integrity import FORMAT, confined, json_digest, require_digest, sweep_unfinished
from hostsim.results.results import AssumedInput, EffectiveSetting, ResourceUsage, Results
from hostsim.results.search_answer import Bound
from hostsim.results.table import WALL_CLOCK, read_table, write_table
from hostsim.results.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "as_csv",
    "plain_csv",
    "plain_json",
    "read",
    "rerun_command",
    "write",
]


_LONGEST = 200
"""Largest number of characters from a file in the command."""


def rerun_command(kept: Mapping[str, Any], folder: Path | None = None) -> str:
    """The command that repeats results, from stored properties of any format; the function if the scenario has no file.

    Args:
        kept: ``scenario``, ``quick`` and ``provenance`` of the results; missing ones have their defaults.
        folder: folder of the results, if the command is to write them there again.
    """
    provenance = kept.get("provenance")
    origin: Mapping[str, Any] = provenance if isinstance(provenance, Mapping) else {}
    if "source" in origin:  # the scenario has no file
        return "hostsim.run"
    words = ["hostsim", "run", _text(origin.get("file") or kept.get("scenario"))]
    words += ["--quick"] if kept.get("quick") is True else []
    if _text(origin.get("seed", "1")) != "1":
        words += ["--seed", _text(origin["seed"])]
    for change in filter(None, _text(origin.get("set", "")).split("; ")):
        value = change.partition("=")[2]
        words += ["--axis" if "," in value and not value.startswith("[") else "--set", change]
    for plugin in filter(None, _text(origin.get("plugins", "")).split("; ")):
        words += ["--plugin", plugin.partition(" ")[0]]
    if origin.get("ensemble"):
        words += [f"--ensemble={_text(origin['ensemble']).rpartition(' ')[0]}"]
    if folder is not None and folder.name != kept.get("scenario"):
        words += ["--output", str(folder)]
    return shlex.join(words)


def _text(value: object) -> str:
    """Text of an untrusted file, without control characters, and truncated."""
    return "".join(letter for letter in str(value) if letter.isprintable())[:_LONGEST]


_EARLIER_FORMAT = 7
"""Older format that is still read; its results.json has no digest."""
_FRAMES = ("table", "contexts", "cpu", "runs")
"""Fields of results in separate files."""
_OPTIONAL = ("bottlenecks", "subjects")
"""Fields of results in separate files if they have rows."""
_KEYS = {"usage": "cost"}
"""Keys of results.json that differ from the field's name."""
_FILES = tuple(f"{name}.parquet" for name in _FRAMES)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write(results: Results, folder: Path) -> list[Path]:
    """Write the tables and facts of results as a folder; files of the same names are replaced.

    Returns:
        The files.

    Raises:
        StoreError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target in (folder, folder / "figures"):
            sweep_unfinished(target)
        names = (*_FRAMES, *(name for name in _OPTIONAL if len(getattr(results, name))))
        for name in names:
            write_table(getattr(results, name), confined(folder, folder / f"{name}.parquet"))
        for name in set(_OPTIONAL) - set(names):  # the file is from an earlier run
            confined(folder, folder / f"{name}.parquet").unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror or error}") from error
    files = [folder / f"{name}.parquet" for name in names]
    files.insert(1, write_whole(confined(folder, folder / "table.csv"), as_csv(results.table).encode()))
    kept = {
        _KEYS.get(entry.name, entry.name): plain_json(getattr(results, entry.name))
        for entry in dataclasses.fields(Results)
        if entry.name not in (*_FRAMES, *_OPTIONAL, "records")
    }
    tables = {f"{name}.parquet": _digest(folder / f"{name}.parquet") for name in names}
    kept = {"format": FORMAT, "tables": tables} | kept
    text = json.dumps({"digest": json_digest(kept)} | kept, indent=1, allow_nan=False)
    files.append(write_whole(confined(folder, folder / "results.json"), text.encode()))
    return files


def read(folder: Path) -> Results:
    """Read results from a folder that `write` wrote; without the records.

    Raises:
        StoreError: results are missing or unreadable.
    """
    try:
        for file in ("results.json", *_FILES):
            confined(folder, folder / file)
        kept = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        _require_format(folder, kept)
        digest = kept.pop("digest", None)
        if digest not in (None, json_digest(kept)):
            raise StoreError(f"{folder / 'results.json'}: does not match its digest; run the scenario again")
        require_digest(folder.parent, kept.pop("format"), _EARLIER_FORMAT, has_digest=digest is not None)
        optional = [name for name in _OPTIONAL if f"{name}.parquet" in kept["tables"]]
        files = (*_FILES, *(confined(folder, folder / f"{name}.parquet").name for name in optional))
        if kept.pop("tables") != {file: _digest(folder / file) for file in files}:
            raise StoreError(
                f"{folder}: its tables and its results.json come from different runs; run the scenario again"
            )
        kept |= {name: read_table(folder / f"{name}.parquet") for name in optional}
        return Results(
            table=read_table(folder / "table.parquet"),
            contexts=read_table(folder / "contexts.parquet"),
            cpu=read_table(folder / "cpu.parquet"),
            runs=read_table(folder / "runs.parquet"),
            figures=tuple(map(_figure, kept.pop("figures"))),
            verdicts=Verdicts(map(_verdict, kept.pop("verdicts")), quick=kept["quick"]),
            settings=tuple(EffectiveSetting(**setting) for setting in kept.pop("settings")),
            assumptions=tuple(AssumedInput(**assumption) for assumption in kept.pop("assumptions")),
            citations={name: tuple(map(_citation, citations)) for name, citations in kept.pop("citations").items()},
            warnings=tuple(kept.pop("warnings")),
            usage=ResourceUsage(**kept.pop("cost")),
            **kept,
        )
    except FileNotFoundError as error:
        if (folder / "results.json").is_file():
            raise StoreError(f"{error.filename}: is missing; run the scenario again") from None
        raise StoreError(f"{folder}: contains no results; `hostsim run` writes them") from None
    except StoreError:
        raise
    except Exception as error:  # the file may come from another user
        raise StoreError(f"{folder}: results cannot be read: {error}") from error


def _require_format(folder: Path, kept: dict[str, Any]) -> None:
    """Check the version of the layout.

    Raises:
        StoreError: the version differs; the message has the command that writes the current one.
    """
    given = kept.get("format")
    if given in (FORMAT, _EARLIER_FORMAT):
        return
    is_later = isinstance(given, int) and given > FORMAT
    age, first = ("a later", "install that one, or run ") if is_later else ("an earlier", "")
    command = f"`{rerun_command(kept, folder)}`"
    provenance, own = kept.get("provenance"), ""
    if not (isinstance(provenance, dict) and provenance.keys() & {"file", "source"}):
        own = "; for your own scenario, give its file instead of its name"
    how = f"{first}{command}{'' if is_later else ' writes it again, from stored runs'}{own}"
    raise StoreError(f"{folder}: has format {given!s:.20}, of {age} version of hostsim; this one reads {FORMAT}: {how}")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def as_csv(table: pd.DataFrame) -> str:
    """The table as CSV without wall-clock times, so that the same runs give the same bytes.

    The heading of an axis of quantities has its unit: ``rate (pps)``.

    Text that a spreadsheet would read as a formula gets a leading apostrophe. A measure without a number is empty, so that
    its column has only numbers.
    """
    shown = table.drop(columns=list(WALL_CLOCK), errors="ignore")
    units = {axis: f"{axis} ({table.attrs['units'][axis]})" for axis in table.attrs.get("written", {})}
    return plain_csv(shown.rename(columns=units))


def plain_csv(frame: pd.DataFrame) -> str:
    """A frame as CSV; text that a spreadsheet would read as a formula gets a leading apostrophe."""

    def harmless(cell: object) -> object:
        return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell

    texts = frame.select_dtypes(exclude=["number", "bool"]).columns
    shown = frame.assign(**{name: frame[name].map(harmless) for name in texts})
    return shown.rename(columns=harmless).to_csv(index=False, lineterminator="\n")


def plain_json(value: Any) -> Any:
    """The value for strict JSON; non-finite numbers become null."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {entry.name: plain_json(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
        if isinstance(value, Verdict) and value.prediction is None:
            del fields["prediction"]  # the value was not requested
        return {"form": type(value).__name__} | fields if type(value).__name__ in TAGGED else fields
    if isinstance(value, Mapping):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain_json(item) for item in value]
    if hasattr(value, "item"):  # a number of numpy
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _read(kept: Any) -> Any:
    """Decode the output of `_plain`: mappings with a ``form`` become that form, lists tuples."""
    if isinstance(kept, list):
        return tuple(_read(entry) for entry in kept)
    if not isinstance(kept, dict):
        return kept
    fields = {name: _read(value) for name, value in kept.items()}
    kind = TAGGED.get(str(kept.get("form")))  # an axis may have this name as well
    return fields if kind is None else kind(**{name: value for name, value in fields.items() if name != "form"})


def _figure(kept: dict[str, Any]) -> Figure:
    if "axes" in kept:
        kept["axes"] = {axis: AxisNames(**names) for axis, names in kept["axes"].items()}
    kind = TableSpec if "columns" in kept else AnswersSpec if "answers" in kept else FigureSpec
    return kind(**_tuples(kept))


def _citation(kept: dict[str, Any]) -> Citation:
    return Citation(Publication(**_tuples(kept["publication"])), kept["at"])


def _verdict(kept: dict[str, Any]) -> Verdict:
    expectation = kept.pop("expectation")
    form = _read(expectation.pop("form"))
    band = Band(**expectation.pop("band"))
    red, bound, prediction = kept.pop("known"), kept.pop("bound"), kept.pop("prediction", None)
    return Verdict(
        expectation=Expectation(form=form, band=band, **expectation),
        state=VerdictState(kept.pop("state")),
        known=red and KnownRed(Band(**red.pop("range")), **red),
        bound=bound and Bound(bound),
        prediction=prediction and PredictionInterval(**prediction | {"state": VerdictState(prediction["state"])}),
        **_tuples(kept),
    )

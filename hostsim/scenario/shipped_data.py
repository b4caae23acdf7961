"""Shipped data, found by name: scenarios, components, claims, bibliography, names not modelled."""

from __future__ import annotations

import csv
import dataclasses
import fnmatch
import functools
import importlib.resources
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import model_validator

from hostsim.config.field import Spec
from hostsim.config.files import display_name, find_below, is_there, why_not
from hostsim.errors import Fault, InputError, nearest_name, raise_faults
from hostsim.results.claim import CLAIM_KINDS, KINDS, Citation, Claim, Measurement, Publication
from hostsim.results.expect import Band, KnownRed
from hostsim.scenario.yaml.reader import Text, read
from hostsim.scenario.yaml.source_tree import Tree
from hostsim.scenario.yaml.validation import validate

__all__ = [
    "PREDICTIONS",
    "Bibliography",
    "KnownName",
    "Subject",
    "bibliography",
    "claims",
    "data_root",
    "explained",
    "find_part",
    "find_scenario",
    "known_names",
    "known_red",
    "measurements",
    "part_title",
    "predictions",
    "read_bibliography",
    "shipped",
    "shipped_ensemble",
    "shipped_parts",
]


@dataclass(frozen=True)
class Subject:
    """Publications on a subject of the model, and what they say."""

    about: str
    facts: tuple[tuple[Citation, str], ...]
    """Our summary of each cited place of a publication."""


@dataclass(frozen=True)
class Bibliography:
    """A bibliography: publications by key, what they say, and the texts that cite them."""

    entries: Mapping[str, Publication]
    claims: tuple[tuple[tuple[str, ...], Citation], ...]
    """Patterns of claim ids, each with the citation of those ids; the first match counts."""
    measurements: Mapping[str, Citation]
    """Citations by the first part of a measurement's id."""
    texts: Mapping[str, tuple[Citation, ...]]
    """Citations by the words that refer to them in a text; longer words have priority over shorter ones that they contain."""
    subjects: Mapping[str, Subject]
    """Subjects by the name that texts use, such as ``facts 2.1``; their publications are in `texts`."""

    def of_claim(self, name: str) -> tuple[Citation, ...]:
        """The citation of a claim or a measurement by its id; none for a user's expectation."""
        for patterns, citation in self.claims:
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                return (citation,)
        measurement = self.measurements.get(name.partition(".")[0])
        return (measurement,) if measurement is not None else ()

    def of_text(self, text: str) -> tuple[Citation, ...]:
        """The citations that a text names, without duplicates, in the order of the bibliography."""
        folded = " ".join(text.split())
        texts = [words for words in self.texts if _names(folded, words)]
        longest = [words for words in texts if not any(words in other for other in texts if other != words)]
        return tuple(dict.fromkeys(citation for words in longest for citation in self.texts[words]))


@functools.cache
def bibliography() -> Bibliography:
    """The shipped bibliography.

    Raises:
        InputError: the shipped file is damaged.
    """
    return read_bibliography(data_root() / "sources" / "bibliography.yaml")


def read_bibliography(file: Path) -> Bibliography:
    """Read a bibliography.

    Raises:
        InputError: an entry has an unknown field or no title, or a citation names no entry.
    """
    reader = _Reader(read(file, display_name(file)), display_name(file))
    tree = reader.text.tree
    entries = {
        key: publication for key, fields in tree["entries"].items() if (publication := reader.entry(key, fields))
    }
    claims = []
    for index, rule in enumerate(tree["claims"]):
        citation = reader.citation(("claims", index), rule["entry"], entries, rule.get("at", ""))
        claims.append((tuple(rule["ids"]), citation))
    measurements = {key: Citation(entry) for key, entry in entries.items()}
    for key, rule in tree["measurements"].items():
        measurements[key] = reader.citation(("measurements", key), rule["entry"], entries, rule.get("at", ""))
    texts = {
        words: tuple(reader.citation(("texts", words), key, entries) for key in keys)
        for words, keys in tree["texts"].items()
    }
    subjects = {}
    for name, subject in tree["facts"].items():
        cited = tuple(
            (reader.citation(("facts", name, "rows", row), fact["entry"], entries, fact.get("at", "")), fact["says"])
            for row, fact in enumerate(subject["rows"])
        )
        subjects[name] = Subject(subject["about"], cited)
        texts[name] = tuple(dict.fromkeys(Citation(citation.publication) for citation, _ in cited))
    raise_faults(reader.faults)
    return Bibliography(entries, tuple(claims), measurements, texts, subjects)


class _Reader:
    """One pass over a bibliography, which collects its faults."""

    def __init__(self, text: Text, file: str) -> None:
        self.text, self.file = text, file
        self.faults: list[Fault] = []

    def entry(self, key: str, fields: Mapping[str, Any]) -> Publication | None:
        keys = [field.name for field in dataclasses.fields(Publication)]
        path = ("entries", key)
        for name in fields.keys() - set(keys):
            self._fault("unknown field", path, name, f"one of {', '.join(keys)}", nearest_name(name, keys))
        if not fields.get("title"):
            self._fault("has no title", path)
        if fields.get("kind", KINDS[0]) not in KINDS:
            self._fault("unknown kind", path, str(fields["kind"]), f"one of {', '.join(KINDS)}")
        if self.faults:
            return None
        return Publication(key, **fields)

    def citation(
        self, path: tuple[str | int, ...], key: str, entries: Mapping[str, Publication], at: str = ""
    ) -> Citation:
        if key not in entries:
            self._fault("names no entry", path, key, "a key of entries", nearest_name(key, entries))
            return Citation(Publication(key, key))
        return Citation(entries[key], at)

    def _fault(
        self, message: str, path: tuple[str | int, ...], given: str = "", allowed: str = "", nearest: str = ""
    ) -> None:
        dotted = ".".join(map(str, path))
        self.faults.append(Fault(message, dotted, given, allowed, nearest, self.file, self.text.lines.get(path)))


@functools.cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(words)}(?![\w]|\.\d)")


def _names(text: str, words: str) -> bool:
    """True if a text names the words as a whole: ``facts 2.1`` but not ``facts 2.10``."""
    return _pattern(words).search(text) is not None


PREDICTIONS: Final = "predictions"
"""Folder of the scenarios that predict measurements, with their own parts."""
LEDGER = "first.yaml"
"""File of first predictions, beside their scenarios (`hostsim.lab.prediction`)."""


@functools.cache
def data_root() -> Path:
    """The folder of the shipped data: inside an installed package, or ``scenarios/`` beside a checkout's."""
    package = Path(str(importlib.resources.files("hostsim")))
    inside = package / "shipped"
    return inside if (inside / "claims.csv").is_file() else package.parent / "scenarios"


def shipped() -> dict[str, Path]:
    """Files of the shipped scenarios by name, examples last."""
    root = data_root()
    files = [*sorted(root.glob("*.yaml")), *sorted((root / "examples").glob("*.yaml"))]
    return {file.stem: file for file in files if file.name != "known_red.yaml"}


def predictions() -> dict[str, Path]:
    """Files of the shipped scenarios that predict measurements, by name; `shipped` does not include them."""
    files = sorted((data_root() / PREDICTIONS).glob("*.yaml"))
    return {file.stem: file for file in files if file.name != LEDGER}


def shipped_ensemble() -> Path:
    """The file of the shipped ensemble of hosts."""
    return data_root() / "calibration" / "ensemble.csv"


def shipped_parts(kind: str) -> dict[str, Path]:
    """Files of the shipped parts of a kind, by name. Kinds: ``platforms``, ``hardware``, ``nics``, ``guests``,
    ``peers`` and ``traffic``, also with the prefix ``predictions/``.
    """
    return {file.stem: file for file in sorted((data_root() / kind).glob("*.yaml"))}


def part_title(file: Path) -> str:
    """The first sentence of the comment at the top of a shipped file."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines).split(". ")[0].rstrip(".")


def find_scenario(scenario: str | Path) -> Path:
    """The file of a scenario.

    Raises:
        InputError: neither a file nor a shipped name.
    """
    files = shipped() | predictions()
    if str(scenario) in files:
        return files[str(scenario)]
    file = Path(scenario)
    if is_there(file):
        return file
    allowed = "a path, or one of " + ", ".join(files)
    if file.suffix in (".yaml", ".yml") or len(file.parts) > 1:
        # by stem, as files of one folder have the same folder and suffix
        near = {other.stem: str(other) for other in file.parent.glob("*.yaml") if other != file}
        nearest = near.get(nearest_name(file.stem, near), "")
        raise InputError(Fault(why_not(file), given=str(file), allowed=allowed, nearest=nearest))
    raise InputError(
        Fault(
            "unknown scenario",
            given=repr(str(scenario)),
            allowed=allowed,
            nearest=nearest_name(str(scenario), files),
        )
    )


def find_part(kind: str, name: str, beside: Path, root: Path) -> Path:
    """The file of a part.

    Args:
        kind: ``platforms``, ``hardware``, ``guests`` or ``peers``.
        name: a shipped name, or a path (it has a slash or ends in ``.yaml``) relative to ``beside``.
        beside: folder of the file that names it.
        root: folder that contains all files.

    Raises:
        InputError: no such name or file; without place.
    """
    if "/" in name or name.endswith((".yaml", ".yml")):
        return find_below(name, beside, root)
    files = shipped_parts(kind)
    if name not in files:
        allowed = "one of " + ", ".join(files) + ", or a path with a slash"
        raise InputError(Fault("unknown name", given=repr(name), allowed=allowed, nearest=nearest_name(name, files)))
    return files[name]


@functools.cache
def claims() -> dict[str, Claim]:
    """The published claims by id, in the order of the score table.

    Raises:
        InputError: the shipped table is damaged, or has a claim of an unknown kind.
    """
    file = data_root() / "claims.csv"
    columns = [field.name for field in dataclasses.fields(Claim) if field.name not in ("band", "label")]
    by_name: dict[str, Claim] = {}
    labels = _claim_labels()
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        for row in rows:
            if (kind := row.get("kind") or "") not in CLAIM_KINDS:
                allowed, nearest = "one of " + ", ".join(CLAIM_KINDS), nearest_name(kind, CLAIM_KINDS)
                fault = Fault("unknown kind of claim", f"{row.get('id')}.kind", kind, allowed, nearest)
                raise InputError(replace(fault, file=display_name(file), line=rows.line_num))
            try:
                low, high = (float(row[end]) if row[end] else None for end in ("low", "high"))
                texts = {column: row[column] for column in columns}
                by_name[row["id"]] = Claim(**texts, band=Band(low, high), label=labels.get(row["id"], row["metric"]))
            except (KeyError, ValueError) as error:
                fault = Fault(f"is not a row of claims: {error}", str(row.get("id")), file=display_name(file))
                raise InputError(fault) from None
    return by_name


def _claim_labels() -> dict[str, str]:
    """Labels of the claims for figures, by id, from a separate table."""
    file = data_root() / "claim_labels.csv"
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as stream:
        return {row["id"]: row["label"] for row in csv.DictReader(stream)}


@functools.cache
def measurements() -> dict[str, Measurement]:
    """The published measurements for predictions, by id, in the order of their table.

    Raises:
        InputError: the shipped table is damaged.
    """
    file = data_root() / "published-2.csv"
    by_id: dict[str, Measurement] = {}
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        for row in rows:
            try:
                band = Band(float(row.pop("low")), float(row.pop("high")))
                by_id[row["id"]] = Measurement(**row, band=band)
                by_id[row["id"]].number  # noqa: B018 a band or a direction
            except (KeyError, TypeError, ValueError) as error:
                fault = Fault(f"is not a row of measurements: {error}", str(row.get("id")), file=display_name(file))
                raise InputError(replace(fault, line=rows.line_num)) from None
    return by_id


class _KnownRed(Spec):
    """An entry of the list of known reds."""

    range: tuple[float, float]
    """Range of its value in quick runs with the default root seed."""
    other_runs: tuple[float, float] | None = None
    """Range in all other runs; default: ``range``."""
    reason: str
    """The mechanism that keeps the value out of its band."""
    awaiting: Literal["calibration"] | None = None
    """The event that removes the entry."""

    @model_validator(mode="after")
    def _ascending(self) -> _KnownRed:
        if any(low > high for low, high in (self.range, self.other_runs or self.range)):
            raise ValueError("has a range with its ends in the wrong order|[LOW, HIGH]")
        if not self.reason.strip():
            raise ValueError("has no reason|reason: the mechanism")
        return self


def known_red(*, other_runs: bool = False) -> dict[str, KnownRed]:
    """Claims that are known to fail, by id.

    Args:
        other_runs: True for the ranges of runs other than quick ones with the default root seed.

    Raises:
        InputError: an entry names an unknown claim, lacks the range of its value or the reason, or is listed until an
            event other than the calibration.
    """
    file = data_root() / "known_red.yaml"
    tree = Tree.of(file, display_name(file))
    entries, faults = {}, list[Fault]()
    for claim in tree.data or ():
        entry, wrong = validate(_KnownRed, tree, (claim,))
        if claim not in claims():
            nearest = nearest_name(claim, claims())
            wrong = [tree.fault((claim,), "unknown claim", "an id of claims.csv", nearest, given="")]
        faults += wrong
        if entry is not None:
            ends = entry.other_runs if other_runs and entry.other_runs is not None else entry.range
            entries[claim] = KnownRed(Band(*ends), entry.reason, entry.awaiting or "", by_interval=other_runs)
    raise_faults(faults)
    return entries


_PLACES = (
    (re.compile(r"(.*\.)?platform(\..*)?"), "releases"),
    (re.compile(r"(.*\.)?guest(\..*)?"), "guests"),
    (re.compile(r".*\.virtualDev"), "devices"),
    (re.compile(r".*\.driver"), "drivers"),
    (re.compile(r"(.*\.)?cpu\.family"), "processors"),
    (re.compile(r"(.*\.)?nics\..*\.model"), "nics"),
    (re.compile(r"traffic\..*\.kind"), "traffic"),
)
"""Section in which a value is looked up, by the path of its key."""
_SETTING = re.compile(r"(?:host\.advanced|host\.kernel|vms\.[^.]+\.vmx)\.(.+)")
_NUMBERED = re.compile(r"^(ethernet|pciPassthru)\d+\.")
_RELEASE = re.compile(r"(?:esxi?|vsphere)[- ]?(\d+(?:\.\d+)*)(?:u\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class KnownName:
    """A row of the table."""

    changes: str
    """The change that modelling the name would bring."""
    nearest: str
    """The nearest name that is modelled."""
    source: str
    """The documentation of the name."""


@functools.cache
def known_names() -> dict[str, dict[str, KnownName]]:
    """Rows by section of the table and lower-case name."""
    file = data_root() / "sources" / "known_names.yaml"
    sections = Tree.of(file, file.name).data
    return {
        section: {
            name.casefold(): KnownName(row["changes"], row["nearest"], row["source"])
            for row in rows
            for name in row["names"]
        }
        for section, rows in sections.items()
    }


def explained(error: InputError) -> InputError:
    """The error with information on names that are not modelled, without suggestions of names of another kind."""
    return InputError(map(_explained, error.faults))


def _explained(fault: Fault) -> Fault:
    if not (fault.message.startswith("unknown") or fault.message == "is not one of the choices"):
        return fault
    given = fault.given.strip("'\"")
    for section, name in _looked_up(fault, given):
        if (row := known_names()[section].get(name.casefold())) is not None:
            message = f"{name} is known and not modelled; difference: {row.changes}"
            if row.changes == "nothing":
                message = f"{name} is known by another name"
            elif row.changes.startswith("nothing"):
                message = f"{name} is known by another name; difference: {row.changes}"
            return replace(fault, message=message, given="", allowed=row.nearest, nearest="")
    release, suggested = _RELEASE.fullmatch(given), _RELEASE.fullmatch(fault.nearest)
    is_other = release is not None and suggested is not None and release[1] != suggested[1]
    if is_other:
        return replace(fault, nearest="")
    return fault


def _looked_up(fault: Fault, given: str) -> Iterator[tuple[str, str]]:
    """Sections of the table, with the name to look up."""
    if fault.message == "unknown setting" and (setting := _SETTING.fullmatch(fault.path)) is not None:
        yield "settings", _NUMBERED.sub(r"\1X.", setting[1])
        return
    if fault.message == "unknown key":
        yield "keys", fault.path.rpartition(".")[2]
        return
    for pattern, section in _PLACES:
        if pattern.fullmatch(fault.path):
            yield section, given

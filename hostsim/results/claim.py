"""Publications, and the claims and measurements read from them, with their citations and trust.

Claims are the rows of ``claims.csv``, measurements for predictions those of ``published-2.csv``. The level of trust follows from value,
interval, band, published value and kind of a claim, never from its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hostsim.config.quantity import UNITS
from hostsim.results.expect import Band, Expectation, Verdict, VerdictState
from hostsim.results.search_answer import Bound

__all__ = [
    "CLAIM_KINDS",
    "KINDS",
    "LEVELS",
    "READING",
    "Citation",
    "Claim",
    "Measurement",
    "Publication",
    "bibtex",
    "experiment_title",
    "interval_ends",
    "level",
    "over_published",
    "side_of",
    "topics",
]

KINDS = ("misc", "manual", "techreport", "inproceedings")
"""Kinds of publications, by their names in BibTeX."""


@dataclass(frozen=True)
class Publication:
    """A publication: an entry of the bibliography."""

    key: str
    title: str
    kind: str = "misc"
    """One of `KINDS`."""
    author: tuple[str, ...] = ()
    organization: str = ""
    """Corporate author or publisher."""
    venue: str = ""
    """Blog, proceedings or mailing list."""
    year: int | None = None
    number: str = ""
    """The document's own number."""
    address: str = ""
    """Web address."""
    note: str = ""

    @property
    def words(self) -> str:
        """The publication in words: authors, title, venue, year, number; without the address."""
        people = self.author if len(self.author) <= 3 else (f"{self.author[0]} et al.",)
        parts = [", ".join(people) or self.organization, f"“{self.title}”", self.venue, self.number]
        return ", ".join([part for part in (*parts, str(self.year or "")) if part])

    @property
    def short(self) -> str:
        """The publication in a few words: its first author, or the organization or title, and the year."""
        people = self.author[0].split()[-1:] if self.author else [self.organization or self.title]
        who = f"{people[0]} et al." if len(self.author) > 1 else people[0]
        return f"{who} {self.year}" if self.year else who

    @property
    def link(self) -> str:
        """The web address if it is safe to link, as results may come from another user; else empty."""
        return self.address if self.address.startswith(("https://", "http://")) else ""


@dataclass(frozen=True)
class Citation:
    """A citation: a publication, and the place in it."""

    publication: Publication
    at: str = ""
    """Figure, table, page or section."""

    @property
    def words(self) -> str:
        """The citation in words, without the address."""
        return ", ".join(part for part in (self.publication.words, self.at) if part)

    @property
    def short(self) -> str:
        """The citation in a few words."""
        return ", ".join(part for part in (self.publication.short, self.at) if part)


def bibtex(publications: Iterable[Publication]) -> str:
    """Format publications as BibTeX, each key once."""
    publications_by_key = {publication.key: publication for publication in publications}
    return "\n\n".join(map(_bibtex, publications_by_key.values()))


def _bibtex(publication: Publication) -> str:
    venue = {"inproceedings": "booktitle", "techreport": "series", "manual": "series"}.get(
        publication.kind, "howpublished"
    )
    corporate = "institution" if publication.kind == "techreport" else "organization"
    fields = {
        "title": f"{{{_escaped(publication.title)}}}",
        "author": " and ".join(map(_escaped, publication.author)) or f"{{{_escaped(publication.organization)}}}",
        corporate: _escaped(publication.organization),
        venue: _escaped(publication.venue),
        "year": str(publication.year or ""),
        "number": _escaped(publication.number),
        "url": publication.address,
        "note": _escaped(publication.note),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value not in ("", "{}")]
    return "\n".join([f"@{publication.kind}{{{publication.key},", *lines, "}"])


def _escaped(text: str) -> str:
    """Text in which the characters that TeX reads as commands are escaped."""
    return re.sub(r"([&%$#_{}])", r"\\\1", text.replace("\\", r"\textbackslash "))


CLAIM_KINDS = {
    "scale": "An absolute figure, which depends on costs.",
    "ratio": "A published quotient or equality.",
    "direction": "Only larger, smaller or similar is published.",
    "arithmetic": "Follows from wire and sizes, whatever the costs.",
    "rule": "The exact effect of a documented setting.",
}
"""The kinds of claims with their meanings, from the most to the least informative about the cost model."""


@dataclass(frozen=True)
class Claim:
    """A published claim: one row of ``claims.csv``."""

    id: str
    experiment: str
    kind: str
    """One of `CLAIM_KINDS`."""
    label: str
    """Short label for figures: the topic, a comma, and the difference to other claims on it."""
    condition: str
    metric: str
    published: str
    unit: str
    band: Band
    basis: str
    source: str

    @property
    def topic(self) -> str:
        """The topic, which is the first part of the label."""
        return self.label.partition(",")[0]


@dataclass(frozen=True)
class Measurement:
    """A published measurement for predictions, which is not used for fitting: one row of ``published-2.csv``."""

    id: str
    """The source, a dot, and the quantity in short."""
    quantity: str
    value: str
    """As published: a number, or ``<1`` for a direction."""
    unit: str
    band: Band
    setup: str
    source: str
    confidence: str
    needs: str
    """Requirements of its scenario when the table was made."""

    @property
    def kind(self) -> str:
        """One of `CLAIM_KINDS`, by value and unit."""
        if self.number is None or self.unit == "sign":
            return "direction"
        return "ratio" if self.unit == "ratio" else "scale"

    @property
    def number(self) -> float | None:
        """The published number; None for a direction."""
        return None if self.value[:1] in ("<", ">") else float(self.value)

    def counted_in(self, unit: str) -> Measurement:
        """Convert the measurement to the unit of a metric: 2.4 Mpps are 2400 kpps; unchanged if the units are not convertible."""
        own, other = self.unit.removeprefix("1"), unit.partition(" ")[0]
        units = next((units for units in UNITS.values() if own in units and other in units), None)
        if units is None or self.number is None:
            return self
        factor = units[own] / units[other]
        # to 12 digits, without the rounding error of the conversion
        ends = (None if end is None else float(f"{end * factor:.12g}") for end in (self.band.low, self.band.high))
        return replace(self, value=f"{self.number * factor:.12g}", unit=other, band=Band(*ends))

    @property
    def publication(self) -> str:
        """The part of the id that is common to a source."""
        return self.id.partition(".")[0]

    @property
    def side(self) -> int:
        """See `side_of`."""
        return side_of(self.unit, self.band)


def side_of(unit: str, band: Band) -> int:
    """For a ratio or a sign, 1 if its whole band is above the neutral value (1, or 0 for a sign), -1 if below; else 0."""
    if unit not in ("ratio", "sign"):
        return 0
    neutral = 1 if unit == "ratio" else 0
    if band.low is not None and band.low > neutral:
        return 1
    return -1 if band.high is not None and band.high < neutral else 0


LEVELS = {
    "Trust it for": "the whole 95 % interval lies in the accepted band",
    "Within 20 % for": "the whole interval lies within 20 % of the published value",
    "Direction only for": "the interval meets the published direction or limit, or lies on the published side of 1",
    "Do not use it for": "all other claims, which are missed or undecided. A topic has the level of its worst claim",
}
"""The levels from best to worst, each with its meaning; `level` is the rule."""
READING = (
    "A ratio published as other than 1 is compared by its difference from 1: 1.03 instead of 1.06 is 0.5. "
    "If only a limit was published, the limit is 1; of a range, its middle; of yes or no, yes. "
    "A value without an interval counts as it is."
)
"""Comparisons of values with published ones."""

_SHARE, _ROUNDING = 0.2, 1e-9

_TITLES = {
    "dense-mode": "Dense mode",
    "40gbe": "40GbE",
    "80gbe": "80GbE",
    "numa-io": "NUMA I/O",
    "vxlan": "VXLAN",
    "splitrx": "splitRxMode",
    "directpath": "DirectPath I/O",
    "small-udp": "Small UDP frames",
    "latency": "Latency sensitivity",
}


def experiment_title(experiment: str) -> str:
    """The name of an experiment, or its id."""
    return _TITLES.get(experiment, experiment)


def level(verdict: Verdict) -> int:
    """The index in `LEVELS` of a verdict on a published claim."""
    expectation, is_limit = verdict.expectation, _is_limit(verdict.expectation)
    if verdict.state is VerdictState.PASS:
        return 2 if is_limit else 0
    if verdict.value is None:
        return 3
    relative = over_published(verdict)
    if not is_limit and all(abs(end - 1) <= _SHARE + _ROUNDING for end in interval_ends(relative)):
        return 1
    # relative to the published value, the limit of a direction is 1
    side, ends = side_of(expectation.unit, expectation.band), interval_ends(relative if is_limit else verdict)
    return 2 if side and all((end - 1) * side > -_ROUNDING for end in ends) else 3


def _is_limit(expectation: Expectation) -> bool:
    """True if no two-sided number was published."""
    return expectation.kind == "direction" or None in (expectation.band.low, expectation.band.high)


def interval_ends(verdict: Verdict) -> tuple[float, float]:
    """The ends of a value's interval; one is infinite for a bound, and without an interval both equal the value."""
    value, low, high = verdict.value, verdict.ci_low, verdict.ci_high
    assert value is not None
    if verdict.bound is not None:
        return (value, math.inf) if verdict.bound.is_lower else (-math.inf, value)
    return (value, value) if low is None or high is None else (low, high)


def over_published(verdict: Verdict) -> Verdict:
    """The verdict with value, interval and band divided by the published value; yes and no are unchanged."""
    band = verdict.expectation.band
    zero, one = _scale(verdict.expectation, verdict.value or 0.0)

    def scaled(*numbers: float | None) -> list[float | None]:
        ends = [None if number is None else (number - zero) / (one - zero) for number in numbers]
        return ends if one > zero else ends[::-1]

    [value] = scaled(verdict.value)
    ci_low, ci_high = scaled(verdict.ci_low, verdict.ci_high)
    expectation = replace(verdict.expectation, band=Band(*scaled(band.low, band.high)))
    bound = verdict.bound
    if bound is not None and one < zero:
        bound = Bound.AT_MOST if bound.is_lower else Bound.AT_LEAST
    return replace(verdict, expectation=expectation, value=value, ci_low=ci_low, ci_high=ci_high, bound=bound)


def _scale(expectation: Expectation, value: float) -> tuple[float, float]:
    """Values of 0 and 1 on the relative scale."""
    band, neutral = expectation.band, 1.0 if expectation.unit == "ratio" else None
    try:
        published = float(expectation.published)
    except ValueError:
        published = neutral or ((band.low or 0.0) + (band.high or 0.0)) / 2
    if _is_limit(expectation) or not published:
        ends = [end for end in (band.low, band.high) if end] or [1.0]
        return 0.0, min(ends, key=lambda end: abs(end - (neutral or value)))
    return (1.0 if side_of(expectation.unit, band) and published != 1 else 0.0), published


def topics(judged: Iterable[tuple[Claim, Verdict]]) -> Mapping[str, str]:
    """The topics of claims in words, by the name of their level; a topic of several claims has the level of the worst.

    Args:
        judged: claims, each with its verdict.
    """
    worst: dict[tuple[str, str], int] = {}
    for claim, verdict in judged:
        key = (experiment_title(claim.experiment), claim.topic)
        worst[key] = max(worst.get(key, 0), level(verdict))
    lines = {}
    for index, name in enumerate(LEVELS):
        parts: dict[str, list[str]] = {}
        for (title, topic), of in worst.items():
            if of == index:
                parts.setdefault(title, []).append(topic)
        lines[name] = (
            "; ".join(f"{title} ({', '.join(claims_of_topic)})" for title, claims_of_topic in parts.items())
            or "nothing"
        )
    return lines

"""JUnit XML of verdicts and of comparisons, for CI systems.

The documents are valid by two schemas of CI systems: Jenkins' ``junit-10.xsd`` and Windy Road's ``JUnit.xsd``. The latter requires
properties, system-out and system-err in every suite, and allows one of skipped, error and failure in a test case, without output.
"""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from xml.etree import ElementTree as ET

from hostsim.results.compare import Coverage, PairedDifference
from hostsim.results.expect import Verdict, VerdictState
from hostsim.results.verdicts import is_accepted, label, sentence

__all__ = ["Case", "Suite", "comparison_suite", "document", "verdict_suites"]

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain: controls, surrogates, U+FFFE and U+FFFF."""


@dataclass(frozen=True)
class Case:
    """A test case: a verdict, or a point of a comparison."""

    name: str
    text: str
    """Its text, one sentence."""
    seconds: float = 0.0
    """Wall-clock seconds of its runs; 0 if unknown."""
    result: Literal["", "failure", "error", "skipped"] = ""
    """Empty for a pass. An error has no value; a failure has a value outside the band."""
    type: str = ""
    """Message of an error or a failure."""


@dataclass(frozen=True)
class Suite:
    """A test suite: the cases of one scenario."""

    name: str
    cases: Sequence[Case]


def verdict_suites(verdicts: Sequence[Verdict], *, quick: bool) -> list[Suite]:
    """One suite for each scenario and one case for each expectation, in their order; a known red is skipped, a case without a value is an error."""
    return [
        Suite(scenario, [_verdict_case(verdict, quick=quick) for verdict in verdicts if verdict.scenario == scenario])
        for scenario in dict.fromkeys(verdict.scenario for verdict in verdicts)
    ]


def _verdict_case(verdict: Verdict, *, quick: bool) -> Case:
    name, text, seconds = verdict.expectation.name, sentence(verdict, quick=quick), verdict.wall_s
    if verdict.state is VerdictState.MISSING:
        return Case(name, text, seconds, "error", verdict.state.value)
    if not is_accepted(verdict, quick=quick):
        return Case(name, text, seconds, "failure", label(verdict, quick=quick))
    return Case(name, text, seconds, "skipped" if verdict.known else "")


def comparison_suite(
    scenario: str, held: Coverage, moves: Sequence[PairedDifference], seconds: Mapping[str, float]
) -> Suite:
    """The suite of a comparison with earlier results: one case for each point.

    A point with moved measures is a failure; a point that could not be compared is an error.

    Args:
        scenario: its name.
        held: the coverage of the comparison.
        moves: measures that moved, with their points.
        seconds: wall-clock seconds of the runs of a point, by its text.
    """
    moved: dict[str, list[str]] = {}
    for move in moves:
        moved.setdefault(", ".join(f"{axis}={value}" for axis, value in move.at.items()), []).append(str(move))
    cases = [
        Case(
            point or scenario,
            "\n".join(moved.get(point, ["no measure moved"])),
            seconds.get(point, 0.0),
            "failure" if point in moved else "",
            "moved",
        )
        for point in dict.fromkeys((*held.paired, *moved))
    ]
    for points, why in ((held.alone, "no finished run in common"), (held.single, "one replication in common")):
        cases += [
            Case(point or scenario, f"not compared: {why}", seconds.get(point, 0.0), "error", "not compared")
            for point in points
            if point not in moved
        ]
    return Suite(scenario, cases)


def document(suites: Sequence[Suite], started: datetime, properties: Mapping[str, str]) -> str:
    """The JUnit document of suites.

    Args:
        suites: one for each scenario.
        started: start of the command, in UTC.
        properties: properties of every suite: version, fidelity, seed.
    """
    root = ET.Element("testsuites")
    for index, suite in enumerate(suites):
        counts = {result: sum(case.result == result for case in suite.cases) for result in ("failure", "error")}
        element = ET.SubElement(
            root,
            "testsuite",
            name=_clean(suite.name),
            package="hostsim",
            id=str(index),
            timestamp=started.strftime("%Y-%m-%dT%H:%M:%S"),
            hostname=_clean(platform.node()) or "localhost",
            tests=str(len(suite.cases)),
            failures=str(counts["failure"]),
            errors=str(counts["error"]),
            skipped=str(sum(case.result == "skipped" for case in suite.cases)),
            time=f"{math.fsum(case.seconds for case in suite.cases):.3f}",
        )
        kept = ET.SubElement(element, "properties")
        for name, value in properties.items():
            ET.SubElement(kept, "property", name=name, value=_clean(value))
        for case in suite.cases:
            _add(element, suite.name, case)
        lines = [f"{case.name}: {case.text}" for case in suite.cases]
        ET.SubElement(element, "system-out").text = _clean("\n".join(lines))
        ET.SubElement(element, "system-err")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add(suite: ET.Element, scenario: str, case: Case) -> None:
    names = {"name": _clean(case.name), "classname": _clean(scenario)}
    element = ET.SubElement(suite, "testcase", names, time=f"{case.seconds:.3f}")
    if case.result == "skipped":
        ET.SubElement(element, case.result, message=_clean(case.text))
    elif case.result:
        ET.SubElement(element, case.result, type=case.type, message=_clean(case.text))


def _clean(text: str) -> str:
    """The text with escapes for characters that XML cannot contain."""
    return _NO_XML.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)

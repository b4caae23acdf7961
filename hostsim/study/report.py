"""Findings as text: rows of a table, and the page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from hostsim.study.oracle import Finding, Verdict

__all__ = ["rows", "write_page"]

_HEADINGS = ("case", "quantity", "theory", "simulated", "99.9 % interval", "half-width", "verdict")


def rows(findings: Iterable[Finding]) -> list[tuple[str, ...]]:
    """The headings, and a row for each finding."""
    return [_HEADINGS, *map(_row, findings)]


def _row(finding: Finding) -> tuple[str, ...]:
    interval, theory = finding.interval, finding.quantity.theory
    return (
        finding.oracle.name,
        finding.quantity.name,
        f"{theory:.6g}",
        f"{interval.mean:.6g}",
        f"{interval.low:.6g} .. {interval.high:.6g}",
        f"{100 * finding.half:.2f} %",
        finding.verdict.value,
    )


def write_page(file: Path, findings: Sequence[Finding], *, seed: int, quick: bool) -> None:
    """Write the page: the introduction that stands beside this module, and a table for each group of oracles.

    Args:
        file: Markdown; replaced.
        findings: of one run.
        seed: of that run.
        quick: whether it was a short one.
    """
    introduction = files("hostsim.study").joinpath("verification.md").read_text(encoding="utf-8").rstrip()
    count = {verdict: sum(finding.verdict is verdict for finding in findings) for verdict in Verdict}
    command = f"hostsim verify{' --quick' if quick else ''}{f' --seed {seed}' if seed != 1 else ''} --docs"
    lines = [
        introduction,
        "",
        (
            f"Written by `{command}`: {len({finding.oracle.name for finding in findings})} cases of {findings[0].interval.count} replications each, "
            f"{len(findings)} quantities: {count[Verdict.PASS]} passed, {count[Verdict.FAIL]} failed, "
            f"{count[Verdict.ERROR]} too wide to say."
        ),
    ]
    for group, members in groupby(findings, key=lambda finding: finding.oracle.group):
        lines += [
            "",
            f"## {group}",
            "",
            "| case | quantity | theory | simulated | 99.9 % interval | half-width | allowed | verdict |",
        ]
        lines += ["| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"]
        for finding in members:
            name, quantity, *numbers, half, verdict = _row(finding)
            allowed = f"{100 * finding.most_half:g} %"
            case = name if finding.oracle.parameters in name else f"{name}: {finding.oracle.parameters}"
            lines.append("| " + " | ".join([case, quantity, *numbers, half, allowed, verdict]) + " |")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")

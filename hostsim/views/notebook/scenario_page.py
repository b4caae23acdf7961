"""HTML representation of a scenario for Jupyter: question, axes, expectations and chosen settings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from markupsafe import Markup

from hostsim.results.verdicts import band_text, published_text
from hostsim.units import ps_to_seconds
from hostsim.views.notebook.markup import details, heading, note, paragraph, table

if TYPE_CHECKING:
    from hostsim.scenario.scenario import Scenario

__all__ = ["scenario_html"]


def scenario_html(scenario: Scenario) -> str:
    """HTML page of a scenario; settings at their platform's default are left out, `Scenario.settings` has them all."""
    run = scenario.run
    count = math.prod(len(axis.values) for axis in scenario.axes.values())
    lengths = (
        f"{count} points; {run.replications} runs of {ps_to_seconds(run.length_ps):g} s each, "
        f"quick {run.quick_replications} of {ps_to_seconds(run.quick_length_ps):g} s; those that no expectation rests on "
        f"{run.swept_replications} of {ps_to_seconds(run.swept_length_ps):g} s, "
        f"quick {run.quick_swept_replications} of {ps_to_seconds(run.quick_swept_length_ps):g} s."
    )
    parts = [heading(scenario.name), paragraph(scenario.question)]
    parts += [note(warning) for warning in scenario.warnings]
    parts.append(paragraph(lengths))
    if scenario.axes:
        rows = [(name, _lines(axis.paths), ", ".join(map(str, axis.values))) for name, axis in scenario.axes.items()]
        parts.append(table(("axis", "sets", "values"), rows))
    if scenario.expectations:
        expected = [
            (
                entry.name,
                published_text(entry) or "–",
                band_text(entry.band, entry.unit),
            )
            for entry in scenario.expectations
        ]
        parts.append(details(f"{len(expected)} expectations", table(("claim", "published", "accepted"), expected)))
    chosen = [(row.name, row.value) for row in scenario.settings if not row.origin.endswith(" default")]
    parts.append(
        details(f"{len(chosen)} values that the scenario and its parts choose", table(("name", "value"), chosen))
    )
    if scenario.assumptions:
        assumed = [(row.path, row.value, " to ".join(map(str, row.range)), row.reason) for row in scenario.assumptions]
        inputs = table(("input", "value", "range", "reason"), assumed)
        parts.append(details(f"{len(assumed)} inputs that nobody published, assumed", inputs))
    return Markup("").join(parts)


def _lines(texts: Iterable[str]) -> Markup:
    return Markup("<br>").join(texts)

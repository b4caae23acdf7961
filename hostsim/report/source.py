"""Sources in a report: the publications behind claims, figures and assumed inputs, with links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hostsim.citation import Citation, Publication
from hostsim.expect import Find, Form, required_metrics
from hostsim.figure import AnswersSpec, Figure, TableSpec
from hostsim.results.results import Results

__all__ = ["cited", "publications"]


def cited(results: Results, figure: Figure) -> tuple[Citation, ...]:
    """The citations of the published values that a figure or a table shows, or of those about its measures; each once.

    Args:
        results: of the scenario.
        figure: one of its figures.
    """
    if isinstance(figure, AnswersSpec) or (isinstance(figure, TableSpec) and figure.answers):
        names: Sequence[str] = figure.answers
    else:
        measures = set(figure.columns if isinstance(figure, TableSpec) else (figure.y, figure.right, *figure.stack))
        claims = [verdict.expectation for verdict in results.verdicts if verdict.expectation.is_claim]
        names = [claim.name for claim in claims if not measures.isdisjoint(_metrics(claim.form))]
    return tuple(dict.fromkeys(citation for name in names for citation in results.citations.get(name, ())))


def publications(sections: Iterable[Results]) -> list[Publication]:
    """All publications that results rest on, each once, by their words."""
    found = {
        citation.publication
        for results in sections
        for citations in results.citations.values()
        for citation in citations
    }
    return sorted(found, key=lambda publication: publication.words)


def _metrics(form: Form) -> tuple[str, ...]:
    """The metrics that a form is about, that of a search included."""
    return (form.metric,) if isinstance(form, Find) else required_metrics(form)

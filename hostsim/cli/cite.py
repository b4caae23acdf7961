"""``cite``: the publications behind scenarios and claims, and how to cite hostsim."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hostsim.cli.option import Root, Texts, complete_subject
from hostsim.errors import Fault, InputError, nearest_name

if TYPE_CHECKING:
    from hostsim.results.citation import Citation, Publication

__all__ = ["cite"]

OWN = "hostsim"
"""Key of hostsim's own entry in the bibliography."""


def cite(
    subjects: Annotated[
        Texts,
        typer.Argument(
            metavar="SCENARIO|FILE|CLAIM-GLOB|SUBJECT",
            help="Scenarios, ids of claims and measurements, or subjects such as 'facts 2.1'; hostsim itself by default.",
            autocompletion=complete_subject,
        ),
    ] = None,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print BibTeX entries.")] = False,
    root: Root = None,
) -> None:
    """Sources of claims and inputs, or hostsim's own citation.

    Prints each publication with its address, the claims read from it, and the constants and inputs of the scenario that name it. Of a
    subject, which texts name in parentheses, it prints what each publication says.
    """
    from hostsim.results.citation import bibtex as as_bibtex
    from hostsim.scenario.shipped_data import bibliography

    if not subjects:
        own = bibliography().entries[OWN]
        typer.echo(as_bibtex([own]) if bibtex else _own(own))
        return
    cited: dict[Publication, dict[str, list[str]]] = {}
    for citation, what in _citations(subjects, root):
        users = cited.setdefault(citation.publication, {}).setdefault(citation.at, [])
        if what not in users:
            users.append(what)
    if bibtex:
        typer.echo(as_bibtex(cited))
        return
    for publication, places in cited.items():
        typer.echo(publication.words)
        for line in (publication.address, publication.note):
            if line:
                typer.echo(f"  {line}")
        for at, users in places.items():
            typer.echo(f"  {f'{at}: ' if at else ''}{', '.join(users)}")


def _own(own: Publication) -> str:
    from importlib.metadata import version

    return f"{own.words}, version {version('hostsim')}. {own.note}."


def _citations(subjects: Sequence[str], root: Path | None) -> Iterator[tuple[Citation, str]]:
    """Every citation of the subjects, with the claim or input that makes it, or with what the publication says.

    Raises:
        InputError: a subject is neither a scenario, a file, a subject of the bibliography nor a pattern that matches a claim or a measurement.
    """
    from hostsim.scenario.shipped_data import bibliography, claims, measurements, predictions, shipped

    known = [*claims(), *measurements()]
    scenarios, facts = shipped() | predictions(), bibliography().subjects
    for subject in subjects:
        if subject in facts:
            yield from facts[subject].facts
            continue
        if subject in scenarios or Path(subject).is_file():
            yield from _of_scenario(subject, root)
            continue
        found = [name for name in known if fnmatch.fnmatchcase(name, subject)]
        if not found:
            raise InputError(
                Fault(
                    "no scenario, claim, measurement or subject has this name",
                    given=repr(subject),
                    allowed="a scenario, a file, a pattern of claim ids, or a subject such as 'facts 2.1'",
                    nearest=nearest_name(subject, [*scenarios, *known, *facts]),
                )
            )
        for name in found:
            yield from ((citation, name) for citation in bibliography().of_claim(name))


def _of_scenario(subject: str, root: Path | None) -> Iterator[tuple[Citation, str]]:
    """The citations of a scenario's expectations, then those of its constants and assumed inputs at the first point."""
    from hostsim import api
    from hostsim.scenario.cost_model import constants_at
    from hostsim.scenario.shipped_data import bibliography

    scenario, found = api.load(subject, root=root), bibliography()
    for expectation in scenario.expectations:
        yield from ((citation, expectation.name) for citation in found.of_claim(expectation.name))
    for constant in constants_at(scenario, {name: axis.values[0] for name, axis in scenario.axes.items()}):
        yield from ((citation, constant.name) for citation in found.of_text(constant.text))

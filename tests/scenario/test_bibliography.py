"""Every claim, measurement and text that names a source leads to a publication."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import hostsim
from hostsim.campaign.pipeline import _citations
from hostsim.errors import InputError
from hostsim.results.claim import Citation, Publication, bibtex
from hostsim.scenario.cost_model import constants_at
from hostsim.scenario.load import load
from hostsim.scenario.shipped_data import Bibliography, bibliography, claims, data_root, measurements, read_bibliography

ROOT = Path(hostsim.__file__).parent.parent
NAMED = re.compile(r"\b(?:facts(?:-modern)?|formats) \d+(?:\.\d+)?")


def texts(tree: object) -> list[str]:
    """All texts of a YAML tree."""
    if isinstance(tree, dict):
        return [text for value in tree.values() for text in texts(value)]
    if isinstance(tree, list):
        return [text for value in tree for text in texts(value)]
    return [tree] if isinstance(tree, str) else []


def naming() -> list[str]:
    """Every text and comment of the shipped files that names a section of the facts or formats, split by section."""
    root = data_root()
    files = [file for file in sorted(root.rglob("*.yaml")) if file.parent.name != "sources"]
    found = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        comments = [line.partition("#")[2] for line in text.splitlines() if "#" in line]
        found += [line for line in [*texts(yaml.safe_load(text)), *comments] if NAMED.search(line)]
    return found


@pytest.mark.parametrize("name", [*claims(), *measurements()])
def test_a_published_number_has_a_source_that_can_be_found(name):
    """A reader who doubts a number can look it up."""
    [citation] = bibliography().of_claim(name)
    publication = citation.publication
    findable = publication.address or publication.number
    assert findable or (name.startswith("esxi7-live.") and publication.note), citation


@pytest.mark.parametrize("name", claims())
def test_a_claim_has_its_place_in_the_publication(name):
    """A figure, table or section, not the whole document."""
    [citation] = bibliography().of_claim(name)
    assert citation.at
    assert citation.publication.address.startswith("http")


def test_every_subject_that_a_shipped_file_or_the_code_names_is_in_the_bibliography():
    """A source "facts 2.1" leads to publications and their summaries."""
    named = naming()
    assert len(named) > 80
    code = [file.read_text(encoding="utf-8") for file in (ROOT / "hostsim").rglob("*.py")]
    pages = [file.read_text(encoding="utf-8") for file in (ROOT / "docs").rglob("*.md")]
    unknown = {name for text in [*named, *code, *pages] for name in NAMED.findall(text)} - {"facts 2.10"}
    assert unknown <= set(bibliography().subjects)


def test_what_a_publication_says_is_complete():
    """Each subject has rows, each row has words, and a place of a publication occurs once."""
    for name, subject in bibliography().subjects.items():
        assert subject.about
        assert subject.facts, name
        assert all(says.endswith(".") for _, says in subject.facts), name
        assert len({citation for citation, _ in subject.facts}) == len(subject.facts), name
        assert bibliography().of_text(f"({name})"), name


def test_every_entry_of_the_bibliography_is_cited():
    """A publication that nothing cites is not a source."""
    found = bibliography()
    cited = {citation.publication.key for _, citation in found.claims}
    cited |= {citation.publication.key for citations in found.texts.values() for citation in citations}
    cited |= {citation.publication.key for name in measurements() for citation in found.of_claim(name)}
    assert set(found.entries) - cited == {"hostsim"}


def test_every_pattern_of_claims_fits_one():
    """A rule that matches no claim is a typing error, or an earlier rule hides it."""
    used = {next(patterns for patterns, _ in bibliography().claims if fits(patterns, name)) for name in claims()}
    assert used == {patterns for patterns, _ in bibliography().claims}


def fits(patterns: tuple[str, ...], name: str) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name, pattern) for pattern in patterns)


def test_longer_words_count_in_place_of_shorter_ones_inside_them():
    """A text that names a fact of a section cites only that fact's source."""
    one, other, third = (Publication(key, key.upper()) for key in "abc")
    book = Bibliography(
        {},
        (),
        {},
        {
            "facts 2.1": (Citation(one), Citation(other)),
            "facts 2.1: an exit": (Citation(one),),
            "RFC 1": (Citation(third),),
        },
        {},
    )
    assert book.of_text("facts 2.1: an exit takes\n long; RFC 1") == (Citation(one), Citation(third))
    assert book.of_text("(facts 2.1)") == (Citation(one), Citation(other))
    assert book.of_text("facts 2.11 and RFC 11") == ()


def test_faults_of_a_bibliography_name_line_and_nearest_name(tmp_path):
    """A mistake in the data file is reported at its place."""
    file = tmp_path / "bibliography.yaml"
    file.write_text(
        "entries:\n  rfc-1: {titel: One}\nclaims:\n  - {ids: ['a.*'], entry: rfc-2}\nmeasurements: {}\n"
        "texts: {RFC 1: [rfc-1]}\nfacts: {facts 1: {about: x, rows: [{entry: rfc-3, says: y}]}}\n"
    )
    with pytest.raises(InputError) as caught:
        read_bibliography(file)
    lines = str(caught.value).splitlines()
    assert "bibliography.yaml:2: entries.rfc-1: unknown field; given titel" in lines[0]
    assert "did you mean 'title'?" in lines[0]
    assert any("has no title" in line for line in lines)
    assert any(":4: claims.0: names no entry; given rfc-2" in line for line in lines)
    assert any(":7: facts.facts 1.rows.0: names no entry; given rfc-3" in line for line in lines)


def test_bibtex_braces_names_and_escapes_what_tex_reads_as_commands():
    """An entry can be pasted unchanged."""
    text = bibtex(
        [
            Publication("x", "R&D: 50 % of a_b", "inproceedings", ("A B", "C D"), venue="ATC", year=2012),
            Publication("y", "T", "techreport", organization="Two Words", number="KB 1", address="https://x/a_b"),
        ]
    )
    assert text == (
        "@inproceedings{x,\n  title = {{R\\&D: 50 \\% of a\\_b}},\n  author = {A B and C D},\n  booktitle = {ATC},\n  year = {2012},\n}\n\n"
        "@techreport{y,\n  title = {{T}},\n  author = {{Two Words}},\n  institution = {Two Words},\n  number = {KB 1},\n  url = {https://x/a_b},\n}"
    )


def test_citation_file_agrees_with_the_package():
    """GitHub and `hostsim cite` give the same title, authors and version."""
    from importlib.metadata import version

    kept = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    own = bibliography().entries["hostsim"]
    assert kept["title"] == own.title
    assert [author["name"] for author in kept["authors"]] == [own.organization]
    assert (kept["version"], kept["license"]) == (version("hostsim"), "Apache-2.0")


def test_constants_of_a_scenario_that_name_facts_have_citations():
    """`hostsim cite SCENARIO` lists them."""
    constants = constants_at(hostsim.load("splitrx"), {"receivers": 20, "rate": "40 kpps", "split": "0"})
    named = [constant for constant in constants if NAMED.search(constant.text)]
    assert len(named) > 10
    assert all(bibliography().of_text(constant.text) for constant in named)


def test_results_carry_the_citations_of_claims_and_assumed_inputs():
    """Reports and figures link them without the bibliography."""
    scenario = load("splitrx")
    cited = _citations(scenario)
    assert {entry.name for entry in scenario.expectations if entry.is_claim} <= set(cited)
    assert cited["splitrx.default.40k"][0].publication.key == "mehta-multicast"
    named = {row.path for row in scenario.assumptions if NAMED.search(row.reason)}
    assert named
    assert named <= set(cited)

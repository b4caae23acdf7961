"""Pages, help texts and messages are idiomatic: `make lint` also runs proselint; our own patterns are tested here."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.ci_tool import load_tool

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def prose() -> ModuleType:
    """The linter as a module."""
    return load_tool("prose")


def test_pages_help_and_messages_have_none_of_the_patterns(prose):
    """Short idiomatic sentences, in all texts for users."""
    read = list(prose.texts())
    files = {text.file for text in read}
    assert {"README.md", "docs/index.md", "hostsim/views/report/page.html.j2", "hostsim/cli/sweep.py"} <= files
    assert not any(file.startswith(("docs/decisions", "docs/changelog")) for file in files)
    assert [str(found) for text in read for found in prose.own_findings(text)] == []


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("A host of one's own.", "one's own"),
        ("Inputs that nobody\n  published.", "nobody published"),
        ("It comes out red.", "comes out red"),
        ("The user is told.", "is told"),
        ("It is kept for ever.", "kept for ever"),
        ("The keys stand in a table.", "keys stand in"),
        ("Set it. May be given often.", "May be given often"),
    ],
)
def test_a_pattern_finds_its_words_over_a_line_and_in_any_case(prose, sentence, words):
    """A match has the line of its beginning."""
    [found] = prose.own_findings(prose.Text("page.md", 7, f"\n{sentence}"))
    assert (found.file, found.line, found.words) == ("page.md", 8, words)


def test_code_and_addresses_are_no_prose(prose):
    """Lines keep their numbers."""
    page = "# T\n\n```text\nis told\n```\n\n`is told` and [x](https://is told) but it is told.\n"
    [found] = prose.own_findings(prose.Text("page.md", 1, prose.without_code(page)))
    assert found.line == 7

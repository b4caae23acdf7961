"""Decisions and design notes: the index lists each file, and each citation in the repository resolves."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
FILES = {file.name for file in DECISIONS.glob("0*.md")}


def test_the_index_lists_each_decision_once() -> None:
    """A decision without an entry cannot be found by topic."""
    listed = re.findall(r"^- \[\d{4}\]\((.+?)\)", (DECISIONS / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(FILES)


def test_each_citation_of_a_decision_or_a_design_note_resolves() -> None:
    """Code, pages and scenarios cite a decision by number and a note by file; a deleted one is an error."""
    known = {name[:4] for name in FILES} | {file.name for file in (ROOT / "docs" / "design").glob("*.md")}
    files = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")]
    for folder in ("hostsim", "tests", "docs", "scenarios", "notebooks", ".ci"):
        files += (ROOT / folder).rglob("*")
    dead = {}
    for file in files:
        if file.suffix in {".md", ".py", ".yaml", ".yml", ".toml", ".ipynb", ".json", ""} and file.is_file():
            cited = set(re.findall(r"docs/(?:decisions|design)/(\d{4}|[\w-]+\.md)", file.read_text(encoding="utf-8")))
            if cited - known - {"index.md"}:
                dead[str(file.relative_to(ROOT))] = sorted(cited - known)
    assert dead == {}

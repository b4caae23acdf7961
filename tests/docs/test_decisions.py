"""Decisions: one file each with its sections, listed once by theme, and found from the places in the code that name them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
FILES = sorted(file for file in DECISIONS.glob("*.md") if file.name != "index.md")
SECTIONS = ["Status", "Context", "Decision", "Consequences", "Code and test"]
TEXTS = (".cfg", ".csv", ".ipynb", ".md", ".py", ".toml", ".yaml", ".yml", "")
"""Endings of the files that may name a decision."""


def sections(text: str) -> dict[str, str]:
    """The text below each heading of the second level."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def unresolved(text: str) -> list[str]:
    """Numbers after `docs/decisions/` that belong to no file."""
    known = {file.name[:4] for file in FILES}
    return [number for number in re.findall(r"docs/decisions/(\w+)", text) if number[:4] not in known | {"inde"}]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name[:4])
def test_a_decision_has_its_sections_and_names_code_that_exists(file: Path) -> None:
    """Every section, in order and not empty; a status of the three; paths that are in the checkout."""
    text = file.read_text(encoding="utf-8")
    assert re.match(rf"# {file.name[:4]} \S", text)
    found = sections(text)
    assert list(found) == SECTIONS
    assert all(found.values())
    status = re.match(
        r"(Accepted|Open|Superseded by \[\d{4}\]\((?P<file>[\w-]+\.md)\)), \d{4}-\d\d-\d\d\.$", found["Status"]
    )
    assert status, found["Status"]
    if status["file"]:
        assert (DECISIONS / status["file"]).exists()
    paths = re.findall(r"^- `(.+)`$", found["Code and test"], re.MULTILINE)
    assert len(paths) == len(found["Code and test"].splitlines())
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_each_decision_is_listed_once_with_its_title_and_status() -> None:
    """The index is by theme, so that nothing but this keeps it complete."""
    lines = [
        line for line in (DECISIONS / "index.md").read_text(encoding="utf-8").splitlines() if line.startswith("- ")
    ]
    expected = []
    for file in FILES:
        heading, _, _, _, status, *_ = file.read_text(encoding="utf-8").splitlines()
        number, title = heading.removeprefix("# ").split(" ", 1)
        state = status.rsplit(", ", 1)[0]
        note = "" if state == "Accepted" else f" ({state[0].lower()}{state[1:]})"
        expected.append(f"- [{number}]({file.name}) {title}{note}")
    assert sorted(lines) == sorted(expected)


def test_numbers_are_given_once_and_without_gaps() -> None:
    """A number is a name: it says which decision, and is never given twice."""
    assert [file.name[:5] for file in FILES] == [f"{number:04d}-" for number in range(1, len(FILES) + 1)]


def test_every_reference_to_a_decision_resolves() -> None:
    """In code, tests, pages, scenarios and notebooks; and the modules that need a reason name one."""
    folders = ("hostsim", "tests", "docs", "scenarios", "notebooks", ".ci")
    files = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")]
    files += [file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()]
    dead, named = {}, 0
    for file in files:
        if file.suffix in TEXTS and "__pycache__" not in file.parts and file != Path(__file__):
            text = file.read_text(encoding="utf-8")
            named += file.suffix == ".py" and "docs/decisions/" in text
            if missing := unresolved(text):
                dead[str(file.relative_to(ROOT))] = missing
    assert dead == {}
    assert named >= 15


def test_the_check_itself_finds_a_dead_reference() -> None:
    """A number that is not there, and the page that all decisions were on once."""
    assert unresolved("see docs/decisions/0001, docs/decisions/9999 and docs/decisions/index.md") == ["9999"]

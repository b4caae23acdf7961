"""Faulty files: each case gives exactly its messages, all at once; and each group's own file has no fault."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hostsim.errors import InputError
from hostsim.scenario.load import load
from tests.corpus import GROUPS, cases, told, write

CASES = [(group, name, case) for group in GROUPS for name, case in cases(group).items()]


@pytest.mark.parametrize(("group", "name", "case"), CASES, ids=[f"{group}: {name}" for group, name, _ in CASES])
def test_a_faulty_file_is_told_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, name: str, case: dict[str, Any]
) -> None:
    """Line by line as in the corpus, with no line more or less."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, group, case))
    assert str(caught.value).splitlines() == told(case), name


def test_the_corpus_is_as_large_as_was_promised() -> None:
    """At least 200 files, of every kind that is read."""
    assert len(CASES) >= 200
    assert all(len(cases(group)) >= 8 for group in GROUPS)


def test_messages_name_file_line_and_what_is_allowed() -> None:
    """Every line of the corpus has its file and the allowed values; all except those about missing parts have a line number."""
    lines = [line for _, _, case in CASES for line in told(case)]
    assert [line for line in lines if not re.match(r"(small\.yaml|own\.yaml|web\.vmx|host\.txt)(:\d+)?: ", line)] == []
    assert [line for line in lines if "allowed: " not in line] == []
    unplaced = [line for line in lines if not re.match(r"\S+:\d+: ", line)]
    words = ("is missing", "is empty", "is not a mapping", "contains no", "firmware")
    assert [line for line in unplaced if not any(word in line for word in words)] == []


@pytest.mark.parametrize("group", GROUPS)
def test_what_the_cases_start_from_has_no_fault(tmp_path: Path, group: str) -> None:
    """Otherwise a case could report a fault that its change did not cause."""
    assert load(write(tmp_path, group, {})).name == "small"

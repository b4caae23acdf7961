"""Fuzzing of the loaders: any file content gives a scenario or faults with a place, and nothing else.

Files of the corpus and of what is shipped are cut, doubled, mixed and spliced with words that have a meaning somewhere. What once broke a
loader is kept in the corpus. ``make fuzz`` does it for an hour.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, seed, settings

from hostsim.errors import Fault, InputError
from hostsim.scenario.load import load
from hostsim.scenario.yaml.reader import parse
from tests.corpus import GROUPS, cases, write

SECONDS = float(os.environ.get("HOSTSIM_FUZZ_S", "0"))
ROUND = 500
"""Examples from one seed."""

WORDS = [
    *("0", "-1", "1e5", "1e308", "9" * 40, "0.5", "true", "~", "''", '"', "'", "{}", "[]", "{", "}", "[", "]", ", ", ": ", ":", "- ", "#"),
    *("\n", "\n  ", "\n    ", "\t", "\\", "|", ">", "&a ", "*a", "!t ", "<<", "---\n", "...", "%", "@", "?", "=", "\x00", "\x1b", "\u202e", "\ud7ff", "é"),
    *("file", "value", "assumed", "range", "set", "values", "labels", "extends", "./own.yaml", "../x.yaml", "/", "a" * 300, "9" * 5000),
    *("1 kpps", "1 B", "1 s", "1 %", "1e300 s", "0 B", "inf", "nan", "0x10", "1_0", "vms.receiver", "vms.receiver.vmx.file", "web.vmx"),
]  # fmt: skip


@cache
def seeds(group: str) -> list[str]:
    """The initial texts of a group's file: valid and faulty ones."""
    start = GROUPS[group].text
    texts = [start]
    for case in cases(group).values():
        text = case.get("text", start)
        for old, new in case.get("change", ()):
            text = text.replace(old, new, 1)
        texts.append(text + case.get("add", ""))
    return texts


@st.composite
def texts(draw: st.DrawFn, group: str) -> str:
    """A text of the corpus after a few edits."""
    text = draw(st.sampled_from(seeds(group)))
    for _ in range(draw(st.integers(1, 4))):
        pieces = re.split(r"(\s+|[:,{}\[\]\"=]+)", text)
        place = draw(st.integers(0, len(pieces) - 1))
        end = min(len(pieces), place + draw(st.integers(0, 6)))
        match draw(st.sampled_from(["put", "replace", "cut", "double", "graft", "any"])):
            case "put":
                pieces.insert(place, draw(st.sampled_from(WORDS)))
            case "replace":
                pieces[place] = draw(st.sampled_from(WORDS))
            case "cut":
                del pieces[place:end]
            case "double":
                pieces[place:place] = pieces[place:end]
            case "graft":
                other = re.split(r"(\s+)", draw(st.sampled_from(seeds(group))))
                start = draw(st.integers(0, len(other) - 1))
                pieces[place:end] = other[start : start + 12]
            case "any":
                pieces[place] = draw(st.text(max_size=8))
        text = "".join(pieces)
    return text


def check(group: str, text: str) -> None:
    """Loads a scenario whose group file has some content."""
    with tempfile.TemporaryDirectory() as folder:
        data = {"text": text.encode("utf-8", "replace").decode()}
        faults = faults_of(lambda: load(write(Path(folder), group, data)))
    assert all(fault.file and fault.message for fault in faults), [str(fault) for fault in faults]


def faults_of(read: Callable[[], object]) -> tuple[Fault, ...]:
    """The faults of reading, empty on success; no other error may occur."""
    try:
        read()
    except InputError as error:
        return error.faults
    return ()


def fuzz(group: str, number: int, examples: int) -> None:
    """A number of texts of a group from a seed."""
    quietly = settings(max_examples=examples, database=None, suppress_health_check=list(HealthCheck))
    seed(number)(quietly(given(texts(group))(lambda text: check(group, text))))()


@pytest.mark.parametrize("group", GROUPS)
def test_edited_files_end_in_a_scenario_or_in_faults(group: str) -> None:
    """A few of each kind, always the same ones."""
    fuzz(group, 1, 25)


@settings(max_examples=200, derandomize=True)
@given(st.text(alphabet=st.one_of(st.sampled_from("ab:-?[]{},&*!|>'\"%@`# \n\t1.e"), st.characters()), max_size=60))
def test_any_text_is_yaml_or_a_fault(text: str) -> None:
    """The reader alone."""
    assert all(fault.file == "file" for fault in faults_of(lambda: parse(text, "file")))


@pytest.mark.slow
def test_for_as_long_as_is_asked_for() -> None:
    """A round with its own seed for each group; with ``HOSTSIM_FUZZ_S`` further rounds for that many seconds, with new seeds each time."""
    began, number, done = time.monotonic(), int(time.time()) if SECONDS else 1, 0
    while not done or time.monotonic() - began < SECONDS:
        for group in GROUPS:
            number += 1
            fuzz(group, number, ROUND)
            done += ROUND
            print(f"{done} files in {time.monotonic() - began:.0f} s", flush=True)

"""Strict YAML: accepted content, and the wording of refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hostsim.config.files import MAX_BYTES
from hostsim.errors import InputError
from hostsim.scenario.yaml.reader import parse, parse_value, read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on", "on"),
        ("no", "no"),
        ("TRUE", "TRUE"),
        ("true", True),
        ("false", False),
        ("1e5", 100_000),
        ("1e-2", 0.01),
        ("2.0", 2.0),
        ("007", 7),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("12:30:00", "12:30:00"),
        ("2011-07-12", "2011-07-12"),
        (".inf", ".inf"),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ("40 kpps", "40 kpps"),
        ("[1, a]", (1, "a")),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, expected: Any) -> None:
    """Words that YAML 1.1 turns into booleans, dates and base-60 numbers stay text."""
    actual = parse(f"key: {text}", "file").tree["key"]
    assert (actual, type(actual)) == (expected, type(expected))


def test_every_place_knows_its_line() -> None:
    """Keys and list entries have their line, from 1."""
    text = parse("a: 1\nb:\n  c: [x,\n    y]\n  d:\n    - e: 2\n", "file")
    assert text.lines == {
        ("a",): 1,
        ("b",): 2,
        ("b", "c"): 3,
        ("b", "c", 0): 3,
        ("b", "c", 1): 4,
        ("b", "d"): 5,
        ("b", "d", 0): 6,
        ("b", "d", 0, "e"): 6,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", "file:3: a: duplicate key, already on line 1; allowed: each key once"),
        (
            "a: 1\n b: 2",
            "file:2: has a misplaced colon; given 'b: 2'; allowed: one key: value on each line, indented like its neighbours",
        ),
        (
            "a: [1,2\nb: c",
            "file:2: does not continue the list that opens on line 1; given 'b: c'; allowed: a comma or ]",
        ),
        ("a: !x 1", "file:1: a: tags are not allowed; given !x; allowed: a value without a tag"),
        ("a: &x 1", "file:1: a: anchors are not allowed; given &x; allowed: the value itself"),
        ("a: *x", "file:1: a: aliases are not allowed; given *x; allowed: the value itself"),
        ("1: a", 'file:1: key is not text; given 1; allowed: a word, or a number in quotes: "1"'),
        ("---\na: 1\n---\nb: 2\n", "file:3: contains more than one document; allowed: one document"),
        ("# nothing", "file: is empty; allowed: keys and values"),
        (
            "a: 1e999",
            "file:1: a: has too many digits; given 1e999; allowed: a number of at most 40 characters",
        ),
        ("a: \udcff", "file:1: contains the character '\\udcff', which YAML does not allow"),
        ("a: \x07", "file:1: contains the character '\\x07', which YAML does not allow"),
    ],
)
def test_refusals_name_line_and_reason(text: str, expected: str) -> None:
    """Each refusal has its place and the allowed content."""
    with pytest.raises(InputError) as caught:
        parse(text, "file")
    assert str(caught.value) == expected


def test_refusals_are_told_together() -> None:
    """Faults that do not prevent further reading are collected, followed by a syntax fault."""
    with pytest.raises(InputError) as caught:
        parse("a: &x 1\na: *x\nb: [", "file")
    assert [fault.line for fault in caught.value.faults] == [1, 2, 2, 3]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_and_not_followed(opening: str) -> None:
    """A hostile file gives a fault, not a stack overflow."""
    with pytest.raises(InputError, match="nested too deeply"):
        parse(opening * 5000, "file")


def test_many_aliases_cannot_blow_up() -> None:
    """The billion laughs are refused at the first alias."""
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 30))]
    with pytest.raises(InputError, match="anchors are not allowed"):
        parse("\n".join(lines), "file")


def test_files_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    """Missing, not UTF-8, too long: each is a fault with the file's name."""
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"a: 1\nb: \xff\n")
    long = tmp_path / "long.yaml"
    long.write_bytes(b"#" * (MAX_BYTES + 1))
    for file, expected in (
        (tmp_path / "none.yaml", "none: file not found"),
        (tmp_path, "none: cannot be read: Is a directory"),
        (bad, "none:2: is not UTF-8; given byte 0xff; allowed: a text in UTF-8"),
        (long, "none: is too long; given 4194305 bytes; allowed: at most 4194304 bytes, 4 MiB"),
    ):
        with pytest.raises(InputError) as caught:
            read(file, "none")
        assert str(caught.value) == expected


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Editors on Windows write one."""
    file = tmp_path / "marked.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read(file).tree == {"a": 1}


def test_values_of_options_are_read_like_values_of_files() -> None:
    """`--set` accepts any text that the file could contain."""
    assert [parse_value(text, "--set") for text in ("20", "40 kpps", "'0'", "[1, 2]", "")] == [
        20,
        "40 kpps",
        "0",
        (1, 2),
        "",
    ]

"""Syntax errors of YAML in words that say what to change; the parser's own words where nothing better is known."""

from __future__ import annotations

import yaml

from hostsim.errors import Fault

__all__ = ["syntax_fault"]

_PLAIN = "text in quotes where it begins with a sign such as @ ` % or holds a colon and a space"


def syntax_fault(error: yaml.MarkedYAMLError, text: str, file: str) -> Fault:
    """The fault of a text that is not valid YAML.

    Args:
        error: what the parser says.
        text: what it was given.
        file: what the fault calls it.
    """
    mark = error.problem_mark or error.context_mark
    end = min(mark.index, len(text)) if mark else 0
    if text[end : end + 1] in ("", "\n"):
        end = max(len(text[:end].rstrip()) - 1, 0)  # a parser at the end stands behind the last line
    start = text.rfind("\n", 0, end) + 1
    number, here = text.count("\n", 0, start) + 1, _line_at(text, start)
    opened = error.context_mark.line + 1 if error.context_mark else number
    if "mapping values are not allowed" in (error.problem or "") and start:
        before = text.rfind("\n", 0, start - 1) + 1
        if _has_no_colon(_line_at(text, before)):  # it was read with this line as one text
            given = repr(_line_at(text, before).strip()[:60])
            message = "is no key: the colon, or the space behind it, is missing"
            return Fault(message, given=given, allowed="key: value", file=file, line=number - 1)
    message, allowed = _words(error.problem or "", error.context or "", here, opened)
    if not message:
        message = "is not YAML: " + ", ".join(part for part in (error.context, error.problem) if part)
    return Fault(
        message, given=repr(here.strip()[:60]) if here.strip() else "", allowed=allowed, file=file, line=number
    )


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)]


def _has_no_colon(line: str) -> bool:
    text = line.strip()
    return bool(text) and ": " not in text and not text.endswith(":") and not text.startswith(("#", "- ", "["))


def _words(problem: str, context: str, here: str, opened: int) -> tuple[str, str]:
    """What is wrong and what may stand there; nothing for what is not known."""
    if "\t" in here[: len(here) - len(here.lstrip())]:
        return "is indented with a tab", "spaces"
    if "flow sequence" in context:
        return f"does not go on with the list that opens on line {opened}", "a comma or ]"
    if "flow mapping" in context:
        return f"does not go on with the mapping that opens on line {opened}", "a comma or }"
    if "flow node" in context:
        return "has nothing where a value must stand", "a value, or the bracket that closes"
    if "quoted scalar" in context and "end of" in problem:
        return f"ends inside the quotes that open on line {opened}", "a closing quote"
    if "escape" in problem:
        return "has a backslash that escapes nothing", r"text in single quotes, or \\ for a backslash"
    if "cannot start any token" in problem:
        return "begins a value with a sign that YAML keeps for itself", _PLAIN
    if "mapping values are not allowed" in problem:
        return "has a colon where no key can stand", "one key: value a line, indented like its neighbours"
    if "could not find expected ':'" in problem:
        return "is no key: the colon is missing", "key: value"
    if "block mapping" in context or "block collection" in context:
        return (
            "is not indented like its neighbours",
            f"the keys, or the entries with -, of what begins on line {opened}",
        )
    return "", ""

"""Prose linter: proselint's checks and our own patterns, over pages, help texts, messages and the report's page.

``python .ci/prose.py`` prints each finding with file, line and better words, and exits with 1 if there are any; ``make
lint`` runs it. Not checked are quoted words, decisions and the changelog, which are history, and rules of proselint
that do not suit code and tables (quotes, dots, repeated first words of list items).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

PATTERNS = {
    r"one's own": "your own",
    r"nobody (?:has )?published": "not published",
    r"com(?:e|es|ing) out (?:as|at|red|of|against|beside)": "is",
    r"what comes out": "results",
    r"(?:is|are|be|was|were|been) told": "is reported",
    r"turn(?:s|ing)? to (?:a|another) world": "switches to a world",
    r"as (?:they|it) should be": "met",
    r"may be given often": "repeatable",
    r"(?:kept|stays?|waits?|here) for ever": "permanently",
    r"anew": "again",
    r"(?:costs?|keys?|reasons?|files?|pages?|numbers?) stands? (?:in|below|beside|under|on)": "is in",
    r"goes on (?:from there|where|with the same)": "resumes",
    r"one (?:row|line) an? (?!time)\w+": "one row for each",
    r"one each processor": "one per processor",
    r"held against": "compared with",
    r"what is (?:shipped|left out|not there|looked at)": "a noun: shipped scenarios, omissions",
    r"(?:who|what|which) (?:ran where|serves which|has to be woken)": "a noun",
    r"says (?:who|what it (?:was|is)|how many)": "a verb: lists, describes, counts",
    r"in the like": "similar",
}
"""Patterns of unidiomatic English, each with a better wording."""

CHECKS = (
    *(
        "annotations",
        "archaism",
        "cliches",
        "hedging",
        "industrial_language",
        "malapropisms",
        "misc",
        "mixed_metaphors",
        "mondegreens",
    ),
    *("needless_variants", "nonwords", "oxymorons", "redundancy", "spelling", "uncomparables", "weasel_words"),
)
"""proselint's groups of checks that are applied."""

LEFT_OUT = {
    *("decisions", "changelog.md"),
    *("_ext", "reference", "cost-model.md"),
}
"""Parts of paths below ``docs/`` that are not linted: history, and pages generated from other texts."""

MESSAGES = {
    *("Fault", "fault", "_fault", "ValueError", "TypeError", "StoreError", "ClusterError"),
    *("echo", "Option", "Argument", "option", "repeated"),
}
"""Calls whose texts a user reads."""


@dataclass(frozen=True)
class Text:
    """A text to lint, with file and line of its beginning."""

    file: str
    line: int
    content: str


@dataclass(frozen=True)
class Finding:
    """A finding, with a better wording."""

    file: str
    line: int
    words: str
    better: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.words!r}: {self.better}"


def texts(root: Path = ROOT) -> Iterator[Text]:
    """Pages without their code, texts of messages and help, and the page of the report."""
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    for page in pages:
        name = page.relative_to(root)
        if not LEFT_OUT.intersection(name.parts):
            yield Text(str(name), 1, without_code(page.read_text(encoding="utf-8")))
    template = root / "hostsim/views/report/page.html.j2"
    yield Text(
        str(template.relative_to(root)),
        1,
        re.sub(r"<style>.*?</style>", blank, template.read_text(encoding="utf-8"), flags=re.DOTALL),
    )
    for module in sorted((root / "hostsim").rglob("*.py")):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        name = str(module.relative_to(root))
        if module.parent.name == "cli":
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.FunctionDef)
                    and not node.name.startswith("_")
                    and (help_text := ast.get_docstring(node))
                ):
                    yield Text(name, node.body[0].lineno, help_text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in MESSAGES:
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value:
                        yield Text(name, part.lineno, part.value)


def blank(match: re.Match[str]) -> str:
    """Replace a match by empty lines of the same number."""
    return "\n" * match[0].count("\n")


def without_code(page: str) -> str:
    """A page without its blocks of code, inline code and addresses; lines keep their numbers."""
    page = re.sub(r"^ *```.*?^ *```$", blank, page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`|\]\([^)\n]*\)", "x", page)


def own_findings(text: Text) -> Iterator[Finding]:
    """Findings of our own patterns; a pattern may match across a line's end."""
    for pattern, better in PATTERNS.items():
        anywhere = pattern.replace(" ", r"\s+")
        for match in re.finditer(rf"\b{anywhere}\b", text.content, re.IGNORECASE):
            yield Finding(
                text.file, text.line + text.content.count("\n", 0, match.start()), " ".join(match[0].split()), better
            )


def proselint_findings(text: Text) -> Iterator[Finding]:
    """Findings of proselint."""
    from proselint.tools import LintFile

    enabled = {"max_errors": 1000, "checks": dict.fromkeys(CHECKS, True)}
    if text.content.strip():
        file = LintFile(text.file, text.content)
        for found in file.lint(enabled):
            start, end = found.check_result.span
            words = " ".join(file.content[start:end].split())
            yield Finding(text.file, text.line + found.pos[0] - 1, words, found.check_result.message)


def main() -> None:
    """Print every finding."""
    from proselint.checks import __register__
    from proselint.registry import CheckRegistry

    CheckRegistry().register_many(__register__)
    found = [finding for text in texts() for finding in (*own_findings(text), *proselint_findings(text))]
    for finding in found:
        print(finding)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

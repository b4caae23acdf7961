"""Recipes for developers: each is applied to a copy of the checkout and behaves as its page says.

A recipe is a section of ``docs/project/extend.md`` with ``diff`` blocks: a list of the files that it changes, the diffs, and a ``console``
block with commands, each followed by lines that its output has in this order; ``...`` stands for other lines.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hostsim_docs.session import fences

from tests.writable_copy import copy_tree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "project" / "extend.md"


@dataclass(frozen=True)
class Recipe:
    """A section of the page."""

    name: str
    listed: list[str]
    """Files that its list names."""
    diffs: list[str]
    steps: list[tuple[str, list[str]]]
    """Commands, each with the expected lines after it."""

    @property
    def changed(self) -> list[str]:
        """Files that its diffs change or add."""
        return [file for diff in self.diffs for file in re.findall(r"^\+\+\+ b/(\S+)$", diff, re.MULTILINE)]


def recipes(page: str) -> list[Recipe]:
    """The recipes of a page: its sections with a diff."""
    found = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        blocks = fences(section)
        steps: list[tuple[str, list[str]]] = []
        for line in (line for block in blocks if block.kind == "console" for line in block.lines):
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif line != "...":
                steps[-1][1].append(line)
        diffs = ["\n".join(block.lines) + "\n" for block in blocks if block.kind == "diff"]
        if diffs:
            listed = re.findall(r"^- `([^`]+)`:", section, re.MULTILINE)
            found.append(Recipe(section.splitlines()[0], listed, diffs, steps))
    return found


def unseen(shown: list[str], output: str) -> list[str]:
    """Expected lines that are not part of an output line after the previous match; blanks count once."""
    lines = iter([" ".join(line.split()) for line in output.splitlines()])
    return [line for line in shown if not any(" ".join(line.split()) in printed for printed in lines)]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of ``hostsim`` or ``python`` on the package in a folder."""
    name, *arguments = shlex.split(command)
    assert name in ("hostsim", "python"), command
    if name == "hostsim":
        arguments = ["-m", "hostsim", *arguments, *(["--jobs", "1"] if arguments[0] in ("run", "check") else [])]
    path = os.pathsep.join((str(folder), str(folder / "docs" / "_ext")))
    env = {**os.environ, "PYTHONPATH": path, "HOSTSIM_PURE": "1", "MPLBACKEND": "agg"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


RECIPES = recipes(PAGE.read_text(encoding="utf-8"))


# The commands of the others take seconds to minutes; `make verify` runs them.
AT_ONCE = {"A metric"}


def apply(recipe: Recipe, folder: Path) -> None:
    """Apply a recipe's diffs to a copy of the checkout, and lint the changed files."""
    for name in ("hostsim", "scenarios", "tests", "docs"):
        copy_tree(ROOT / name, folder / name)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "Makefile"):
        copy_tree(ROOT / name, folder / name)
    for diff in recipe.diffs:
        # the folder may be inside another repository, which does not matter
        env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
        # one line of context on each side suffices, so that a change nearby does not matter
        applied = subprocess.run(
            ["git", "apply", "-C1"], input=diff, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert applied.returncode == 0, applied.stderr
    if sources := [file for file in recipe.changed if file.endswith(".py")]:
        for check in (["check"], ["format", "--check"]):
            tidy = run(shlex.join(["python", "-m", "ruff", *check, *sources]), folder)
            assert tidy.returncode == 0, tidy.stdout


@pytest.mark.parametrize(
    "recipe", [recipe for recipe in RECIPES if recipe.name not in AT_ONCE], ids=lambda recipe: recipe.name
)
def test_the_diffs_of_a_recipe_apply(recipe: Recipe, tmp_path: Path) -> None:
    """To the current files, and the changed ones pass the linter."""
    apply(recipe, tmp_path)


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(recipe, id=recipe.name, marks=() if recipe.name in AT_ONCE else pytest.mark.slow)
        for recipe in RECIPES
    ],
)
def test_a_recipe_does_what_it_says(recipe: Recipe, tmp_path: Path) -> None:
    """Its diffs apply, and each command succeeds and prints the expected lines."""
    apply(recipe, tmp_path)
    for command, shown in recipe.steps:
        done = run(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert unseen(shown, done.stdout) == [], f"{command}\n{done.stdout}"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_lists_the_files_that_it_changes(recipe: Recipe) -> None:
    """Each once, in the order of the diffs; and every command has expected output."""
    assert recipe.listed == recipe.changed
    assert recipe.steps
    assert all(shown for _, shown in recipe.steps)


def test_recipes_that_are_run_at_once_exist() -> None:
    """A changed name would otherwise show up only in `make verify`."""
    assert {recipe.name for recipe in RECIPES} > AT_ONCE


def test_there_is_a_recipe_for_each_kind_of_addition_that_the_page_names() -> None:
    """The table at the top links to them."""
    top = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    assert re.findall(r"\]\(#([\w-]+)\)", top) == [recipe.name.lower().replace(" ", "-") for recipe in RECIPES]


def test_what_is_shown_and_not_printed_is_found() -> None:
    """Lines in another order, and lines that do not occur."""
    assert unseen(["a  b", "c"], "x a b x\nno\nc\n") == []
    assert unseen(["c", "a b"], "a b\nc\n") == ["a b"]
    assert unseen(["d"], "a\nb\n") == ["d"]

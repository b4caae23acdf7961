"""Runs of other versions of the code stay, and are mentioned if one of them would have been used."""

from __future__ import annotations

import ast
import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from toy_runs import toy_record

import hostsim.errors
from hostsim.campaign import store as store_module
from hostsim.campaign.code_version import ABOUT, PACKAGE, Code, import_closure, read_code, write_cache
from hostsim.campaign.store import Store, code_digest
from hostsim.errors import StoreError
from tests.writable_copy import copy_tree

COMMENT = (r"\A", "# a comment\n\n")
DOCSTRING = (r'"""', '"""Other words first. ')
STATEMENT = (r"\Z", "\nADDED = 1\n")
ERROR = (r'(raise \w+\(\s*f?)"', r'\1"Alas, ')

WITHOUT_EFFECT = {
    "a comment in the loader": ("hostsim/scenario/load.py", *COMMENT),
    "a comment in the model": ("hostsim/model/receive/nic.py", *COMMENT),
    "a docstring in the loader": ("hostsim/scenario/load.py", *DOCSTRING),
    "a docstring in the model": ("hostsim/model/receive/nic.py", *DOCSTRING),
    "the prose under a field": ("hostsim/config/platform.py", r'\n    """', '\n    """Other words first. '),
    "the text of an error of the loader": ("hostsim/scenario/axis.py", r'Fault\("', 'Fault("alas, '),
    "the text of an error of the model": ("hostsim/model/build.py", *ERROR),
    "the text of an error of a policy": ("hostsim/model/policy/steering.py", *ERROR),
    "the text of an error of a spec": ("hostsim/config/costs.py", *ERROR),
    "how an error is put in words": ("hostsim/errors.py", "; given ", "; found "),
    "a new metric": (
        "hostsim/results/metrics/catalogue.py",
        r"_ENTRIES = \(\n",
        '_ENTRIES = (\n    Metric("again", "%", "As host_cpu.", "instant", mean_share("pcpu.busy_ps")),\n',
    ),
    "a new statistic": ("hostsim/results/estimate.py", *STATEMENT),
    "a new claim": ("scenarios/claims.csv", r"\Z", "new.claim,small-udp,rule,a claim,,loss,1,ratio,0.9,1.1,stated,\n"),
    "another style of plots": ("hostsim/views/plots/style.py", "#1c2128", "#000000"),
    "a changed command": ("hostsim/cli/app.py", *STATEMENT),
    "a new public name": ("hostsim/__init__.py", *STATEMENT),
    "how compiled modules are found": ("hostsim/engine/compiled.py", *STATEMENT),
    "an import for type checkers": (
        "hostsim/engine/clock.py",
        "if TYPE_CHECKING:\n",
        "if TYPE_CHECKING:\n    from hostsim.cli.app import app\n",
    ),
}
WITH_EFFECT = {
    "a constant of the model": ("hostsim/model/control/periodic.py", r"DRIFT = 0\.1", "DRIFT = 0.2"),
    "an operator of a policy": ("hostsim/model/policy/moderation.py", r"last \+ self", "last - self"),
    "an operator of the engine": ("hostsim/engine/ring.py", "missing <= 0", "missing < 0"),
    "a method of a spec": ("hostsim/config/costs.py", r"self\.cycles or 0\.0", "self.cycles or 1.0"),
    "a statement of a run": (
        "hostsim/campaign/simulate.py",
        r"    host\.probe\.start\(\)\n",
        "    host.probe.start()\n    host.probe.sample()\n",
    ),
    "the rule of the warm-up": ("hostsim/results/warm_up.py", "MSER_BATCH = 5", "MSER_BATCH = 4"),
    "a text that is no error": ("hostsim/results/warm_up.py", '"guest.read"', '"guest.came"'),
    "the kind of an error": ("hostsim/model/build.py", r"raise WiringError\(", "raise ValueError("),
}


def copied(folder: Path) -> Path:
    """A copy of the package and the shipped data."""
    copy_tree(PACKAGE, folder / "hostsim")
    copy_tree(PACKAGE.parent / "scenarios", folder / "scenarios")
    return folder / "hostsim"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bool, Mapping[str, str]]]:
    """Whether a run of the unchanged code is found after each change to a copy of the package; and the parts of its code."""
    folder, results = tmp_path_factory.mktemp("copy").resolve(), tmp_path_factory.mktemp("results")
    package, cache = copied(folder), folder / "cache.json"
    write_cache(cache, package)

    def look(code: Code) -> tuple[bool, Mapping[str, str]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store_module, "_code", lambda: code)
            return Store(results).get(("ab" * 16, 0, 1)) is not None, code.parts

    Store(results).put(toy_record(1, 0))
    looks = {"unchanged": look(read_code(package, cache))}
    for name, (file, pattern, replacement) in {**WITHOUT_EFFECT, **WITH_EFFECT}.items():
        before = (folder / file).read_text(encoding="utf-8")
        after, count = re.subn(pattern, replacement, before, count=1)
        assert count == 1, name
        assert after != before, name
        (folder / file).write_text(after, encoding="utf-8")
        looks[name] = look(read_code(package, cache))
        (folder / file).write_text(before, encoding="utf-8")
    return looks


@pytest.fixture(scope="module")
def parts() -> Mapping[str, str]:
    """The parts of the current code."""
    return read_code().parts


def test_a_stored_run_is_found_by_the_code_that_made_it(
    found: dict[str, tuple[bool, Mapping[str, str]]], parts: Mapping[str, str]
) -> None:
    """Wherever the code is installed."""
    assert found["unchanged"] == (True, parts)


@pytest.mark.parametrize("change", WITHOUT_EFFECT)
def test_a_stored_run_is_found_after_a_change_that_no_run_depends_on(
    found: dict[str, tuple[bool, Mapping[str, str]]], parts: Mapping[str, str], change: str
) -> None:
    """Runs of a whole night are still used."""
    assert found[change] == (True, parts)


@pytest.mark.parametrize("change", WITH_EFFECT)
def test_a_stored_run_is_not_found_after_a_change_that_a_run_depends_on(
    found: dict[str, tuple[bool, Mapping[str, str]]], parts: Mapping[str, str], change: str
) -> None:
    """The changed module is named, and records of the old code are not results of the new code."""
    is_found, now = found[change]
    file = WITH_EFFECT[change][0].removeprefix("hostsim/").removesuffix(".py")
    assert now.keys() == parts.keys()
    assert [name for name in now if now[name] != parts[name]] == [file]
    assert not is_found


def test_layout_does_not_count(tmp_path: Path, parts: Mapping[str, str]) -> None:
    """All modules of a run rewritten from their syntax trees, without comments and in another layout."""
    package = copied(tmp_path)
    rewritten = 0
    for name in import_closure(package):
        source = package / f"{name}.py"
        text = source.read_text(encoding="utf-8")
        source.write_text(ast.unparse(ast.parse(text)), encoding="utf-8")
        rewritten += source.read_text(encoding="utf-8") != text
    assert rewritten > 50
    assert read_code(package).parts == parts


def test_an_import_inside_a_function_is_followed(tmp_path: Path) -> None:
    """A module imported late is as much a part of the run as any other, and so are its packages."""
    package = tmp_path / "hostsim"
    for name, text in {
        "campaign/simulate.py": "def simulate():\n    from hostsim.model import late\n    import hostsim.model.policy.rule\n",
        "model/__init__.py": '"""Parts of the host."""\n',
        "model/late.py": "import numpy\n",
        "model/policy/__init__.py": "ORDER = 1\n",
        "model/policy/rule.py": "import heapq\n",
        "scenario/load.py": "import yaml\n",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert sorted(read_code(package).parts) == [
        "campaign/simulate",
        "model/__init__",
        "model/late",
        "model/policy/__init__",
        "model/policy/rule",
        "numpy",
    ]


def test_a_cache_saves_parsing_and_changes_nothing(tmp_path: Path) -> None:
    """Unchanged modules are not parsed again; changed ones are, and all of them if another reader wrote the cache."""
    package, cache, nowhere = tmp_path / "hostsim", tmp_path / "cache.json", tmp_path / "none.json"
    for name, text in {"simulate": "from hostsim.campaign import task\n", "task": "A = 1\n", "late": "B = 1\n"}.items():
        (package / "campaign").mkdir(parents=True, exist_ok=True)
        (package / f"campaign/{name}.py").write_text(text)
    before = read_code(package, nowhere)
    write_cache(cache, package)
    assert read_code(package, cache) == before
    (package / "campaign/task.py").write_text("from hostsim.campaign import late\nA = 1\n")
    after = read_code(package, nowhere)
    assert after.parts.keys() - before.parts.keys() == {"campaign/late"}
    assert read_code(package, cache) == after
    meaning = before.parts["campaign/simulate"]
    cache.write_text(cache.read_text().replace(meaning, "f" * len(meaning)))
    assert read_code(package, cache).parts == {**after.parts, "campaign/simulate": "f" * len(meaning)}
    cache.write_text(json.dumps({**json.loads(cache.read_text()), "reader": "another"}))
    assert read_code(package, cache) == after


def test_a_run_depends_on_these_rooms_numpy_and_simpy_alone(parts: Mapping[str, str]) -> None:
    """The code of a run excludes the loader, the catalogue of measures, and everything that draws, judges or runs a sweep."""
    rooms = {name.split("/")[0] for name in parts}
    own = {"units", "results", "config", "plugin", "engine", "model", "campaign"}
    assert rooms == {*own, "numpy", "simpy"}
    assert {name for name in parts if name.startswith("plugin")} == {"plugin/__init__"}
    assert {name for name in parts if name.startswith("results")} == {"results/__init__", "results/warm_up"}
    campaign = {name.split("/")[1] for name in parts if name.startswith("campaign/")}
    assert campaign == {"__init__", "simulate", "deferred_sigint"}


def test_a_package_without_its_sources_has_no_digest(tmp_path: Path) -> None:
    """It would be the same for all of them."""
    with pytest.raises(FileNotFoundError):
        read_code(tmp_path)


def trees() -> dict[str, ast.Module]:
    return {name: ast.parse((PACKAGE / f"{name}.py").read_bytes()) for name in import_closure()}


def test_no_module_of_a_run_reads_an_error() -> None:
    """Error texts, and the module that defines them, may be omitted, as a raised error ends the run."""
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                assert node.name is None, name
                assert isinstance(node.type, ast.Name), name
                assert node.type.id in {"StopSimulation", "TypeError", "ValueError"}, name  # none of `hostsim.errors`
            if isinstance(node, ast.ImportFrom):
                assert node.module != "hostsim", name  # nor is anything that the package itself defines in the digest
            if isinstance(node, ast.ImportFrom) and node.module == "hostsim.errors":
                kinds = [getattr(hostsim.errors, alias.name) for alias in node.names]
                assert all(issubclass(kind, hostsim.errors.HostsimError) for kind in kinds), name


WANTED = ("ab" * 16, 0, 1)


def left_by_another(results: Path, name: str, **parts: str) -> Path:
    """A folder of runs by another version of the code, which differs in some parts."""
    for seed in (1, 2):
        Store(results).put(toy_record(seed, 0))
    folder = (results / "runs" / code_digest()).rename(results / "runs" / name)
    about = json.loads((folder / ABOUT).read_text())
    about["parts"] |= {part.replace("__", "/"): value for part, value in parts.items()}
    (folder / ABOUT).write_text(json.dumps(about | {"hostsim": "0.0.7", "first_run": "2026-05-04"}))
    return folder


def notes(results: Path, caplog: pytest.LogCaptureFixture, *wanted: tuple[str, int, int]) -> list[str]:
    """The message about runs made by other code."""
    caplog.clear()
    store = Store(results)
    with caplog.at_level(logging.WARNING):
        for key in wanted or (WANTED,):
            assert store.get(key) is None
    return [record.getMessage() for record in caplog.records]


def test_a_version_says_what_it_is_made_of(tmp_path: Path) -> None:
    """Beside its runs, and once: neither a second run nor a second store writes it again."""
    Store(tmp_path).put(toy_record(1, 0))
    file = tmp_path / "runs" / code_digest() / ABOUT
    about = json.loads(file.read_text())
    assert about.keys() == {"hostsim", "python", "first_run", "parts"}
    assert {"campaign/simulate", "model/receive/nic", "numpy"} <= about["parts"].keys()
    file.write_text("{}")
    Store(tmp_path).put(toy_record(2, 0))
    assert file.read_text() == "{}"


def test_modules_that_differ_are_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A second request for both runs gives one message, and both still exist."""
    folder = left_by_another(tmp_path, "0123456789abcdef", engine__ring="other", model__receive__nic="other")
    [note] = notes(tmp_path, caplog, WANTED, ("ab" * 16, 0, 2))
    assert note == (
        f"{tmp_path / 'runs'}: runs of other versions of the code are kept there and not reused:\n"
        "  0123456789abcdef: 2 runs of hostsim 0.0.7, the first on 2026-05-04; differs in engine/ring, model/receive/nic"
    )
    assert len(list(folder.rglob("*.parquet"))) == 2


def test_parts_that_came_and_went_are_named_and_long_lists_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing part of the other version counts as different."""
    left_by_another(tmp_path, "0123456789abcdef", **{f"model__gone{number}": "other" for number in range(8)})
    [note] = notes(tmp_path, caplog)
    assert note.endswith("differs in " + "".join(f"model/gone{number}, " for number in range(6)) + "and 2 more")


def test_nothing_is_said_of_runs_that_no_other_version_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A new question runs without a message once the version has its own runs, and also if there are none."""
    left_by_another(tmp_path, "0123456789abcdef")
    Store(tmp_path).put(toy_record(3, 0))
    assert notes(tmp_path, caplog, ("cd" * 16, 0, 1)) == []
    assert len(notes(tmp_path, caplog, ("cd" * 16, 0, 1), WANTED)) == 1
    (tmp_path / "new" / "runs" / "0123456789abcdef").mkdir(parents=True)
    assert notes(tmp_path / "new", caplog) == []
    assert notes(tmp_path / "elsewhere", caplog) == []


def test_a_version_without_runs_tells_of_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Hashes of points may have changed, and nothing else would explain that everything is run again."""
    left_by_another(tmp_path, "0123456789abcdef")
    assert len(notes(tmp_path, caplog, ("cd" * 16, 0, 1), ("cd" * 16, 0, 2))) == 1


@pytest.mark.parametrize("about", [None, "", "[]", '{"parts": 3}', '{"hostsim": "1", "first_run": "", "parts": []}'])
def test_a_version_that_did_not_note_its_modules_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, about: str | None
) -> None:
    """Like those of hostsim before such notes existed, or a file from elsewhere."""
    folder = left_by_another(tmp_path, "0123456789abcdef")
    if about is None:
        (folder / ABOUT).unlink()
    else:
        (folder / ABOUT).write_text(about)
    [note] = notes(tmp_path, caplog)
    assert note.endswith("\n  0123456789abcdef: 2 runs of an earlier version, which did not record its modules")


def test_no_link_out_of_the_results_folder_is_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A link is not followed to read another version's file, to write that of the current code, or to look for runs."""
    results, mine = tmp_path / "results", tmp_path / "mine.json"
    folder = left_by_another(results, "0123456789abcdef")
    (folder / ABOUT).rename(mine)
    (folder / ABOUT).symlink_to(mine)
    [note] = notes(results, caplog)
    assert note.endswith("2 runs of an earlier version, which did not record its modules")
    folder.rename(tmp_path / "elsewhere")
    (results / "runs/0123456789abcdef").symlink_to(tmp_path / "elsewhere")
    assert notes(results, caplog) == []
    own = results / "runs" / code_digest() / ABOUT
    own.parent.mkdir()
    own.symlink_to(tmp_path / "new.json")
    with pytest.raises(StoreError, match="leads out of"):
        Store(results).put(toy_record(1, 0))
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize("about", ["[" * 60_000, json.dumps({"parts": {"engine/ring": "x" * 65_536}})])
def test_a_note_that_is_too_deep_or_too_large_is_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, about: str
) -> None:
    """The runs are still counted."""
    folder = left_by_another(tmp_path, "0123456789abcdef")
    whole = {"hostsim": "0.0.7", "first_run": "2026-05-04"}
    (folder / ABOUT).write_text(about if about.startswith("[") else json.dumps(json.loads(about) | whole))
    [note] = notes(tmp_path, caplog)
    assert note.endswith("2 runs of an earlier version, which did not record its modules")


def test_a_note_reaches_the_terminal_without_control_characters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They would move the cursor or imitate lines of hostsim; names that are too long are truncated."""
    folder = left_by_another(tmp_path, "01234567\x1b[2J", **{"model__\x1b[31mgone": "other"})
    about = json.loads((folder / ABOUT).read_text())
    (folder / ABOUT).write_text(json.dumps(about | {"hostsim": "1\r\n2" + "3" * 100, "first_run": "\u202etoday"}))
    [note] = notes(tmp_path, caplog)
    assert note.splitlines()[1:] == [
        f"  01234567[2J: 2 runs of hostsim 12{'3' * 78}, the first on today; differs in model/[31mgone"
    ]


def test_of_many_versions_the_latest_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The others are counted."""
    for number in range(5):
        folder = left_by_another(tmp_path, f"{number}" * 16, numpy=f"{number}")
        os.utime(folder, (number, number))
    [note] = notes(tmp_path, caplog)
    lines = note.splitlines()[1:]
    assert [line.split(":")[0].strip() for line in lines[:3]] == ["4" * 16, "3" * 16, "2" * 16]
    assert lines[3] == "  4 runs of 2 older versions"

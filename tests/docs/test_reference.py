"""The reference is complete: every key, setting, measure, option and public name is on its page with its description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from hostsim_docs import claim_values
from hostsim_docs.markdown import linked
from hostsim_docs.reference import PAGES, write_pages

import hostsim
from hostsim.campaign.run_option import OPTIONS
from hostsim.cli.app import app
from hostsim.results import context as contexts
from hostsim.results.context import CPU_COLUMNS
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.verdicts import as_json, range_text, value_text, verdict_text
from hostsim.scenario.component import Parts
from hostsim.scenario.json_schema import scenario_schema
from hostsim.scenario.shipped_data import bibliography, claims, known_red, predictions, shipped, shipped_parts
from tests.sample_results import VERDICTS
from tests.tables import to_table

COMMITTED = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pages are."""
    made = tmp_path_factory.mktemp("docs") / "reference"
    write_pages(made)
    return made


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, str]:
    return {file.stem: file.read_text(encoding="utf-8") for file in folder.iterdir()}


def rows(page: str) -> dict[str, list[str]]:
    """Rows of the page's tables, by their first cell."""
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").replace("\\|", "/").split(" | ")] for line in lines]
    return {row[0].strip().strip("`"): row[1:] for row in cells}


def test_every_key_of_a_scenario_is_there(pages: dict[str, str]) -> None:
    """The keys are those of the JSON Schema, part by part; hardware in the scenario is on the page of its files."""
    schema = scenario_schema()
    known = rows(pages["scenario-file"])
    definitions = {name: part for name, part in schema["$defs"].items() if name.rpartition(".")[2] != "Assumed"}
    held = {name for name in definitions if name.partition(".")[0] == "hardware"}
    parts = [schema, *(part for name, part in definitions.items() if name not in held)]
    keys = {key for part in parts for key in part.get("properties", {})}
    assert keys - set(known) == set()
    keys_of_hardware = {key for name in held for key in definitions[name].get("properties", {})}
    assert keys_of_hardware - set(rows(pages["part-files"])) == set()
    assert len(keys) > 80


@pytest.mark.parametrize(
    ("page", "key", "cells"),
    [
        ("scenario-file", "mtu", ["an integer 1280..9000", "`1500`"]),
        ("scenario-file", "length", ["{ref}`duration <quantities>` above 0", ""]),
        ("part-files", "line_rate", ["{ref}`bandwidth <quantities>`", "**needed**"]),
        ("part-files", "sockets", ["an integer 1..64", "**needed**"]),
        ("part-files", "tx_queue", ["an integer 64..65536", "`4096`"]),
    ],
)
def test_a_key_says_what_may_stand_there_and_its_default(
    pages: dict[str, str], page: str, key: str, cells: list[str]
) -> None:
    """Units, ranges and defaults, and a meaning."""
    found = rows(pages[page])[key]
    assert found[: len(cells)] == [*cells[:1], *cells[1:]] or found[0].startswith(cells[0])
    assert found[1] == cells[1]
    assert len(found[2]) > 10


def test_every_setting_of_every_platform_is_there_with_its_defaults(pages: dict[str, str]) -> None:
    """Defaults of earlier versions are beside the newest's, if they differ."""
    known = rows(pages["settings"])
    for name in shipped_parts("platforms"):
        spec = Parts(Path()).platform(name, ("platform",)).spec
        assert spec is not None
        for table in (spec.advanced, spec.kernel, spec.vmx):
            for setting, says in table.items():
                assert setting in known
                if name not in ("esxi", "ideal") and says.default != "":
                    assert f"`{says.default}`" in known[setting][1]
    assert "`esxi-5.0`" in known["Net.NetSplitRxMode"][1]
    assert known["Cpu.CreditAgePeriod"][2].startswith("*Not modelled.*")


def test_a_setting_of_some_versions_says_which(pages: dict[str, str]) -> None:
    """Removed, added and unchanged settings."""
    meanings = {name: row[2] for name, row in rows(pages["settings"]).items() if len(row) == 4}
    assert meanings["Net.MaxTxCompDelay"].startswith("*Not on esxi-6.5, esxi-6.7, esxi-7.0, esxi-8.0.*")
    assert meanings["Net.NetpollSwLRO"].startswith("*Only on esxi-6.5, esxi-6.7, esxi-7.0, esxi-8.0.*")
    assert "esxi" not in meanings["Cpu.Quantum"]


def test_every_measure_claim_and_scenario_is_there(pages: dict[str, str]) -> None:
    """Each has its unit and meaning."""
    known = rows(pages["measures"])
    assert {name: (m.unit, m.meaning) for name, m in CATALOGUE.items()} == {
        name: (row[0], row[2].rstrip(" |")) for name, row in known.items()
    }
    assert set(claims()) <= set(rows(pages["claims"]))
    for claim, known in known_red().items():
        assert f"- `{claim}`, {range_text(known)}" in pages["claims"]
    assert {*shipped(), *predictions()} <= set(rows(pages["shipped"]))


def test_every_claim_has_its_value_its_verdict_and_a_link_to_its_source(pages: dict[str, str]) -> None:
    """The page has the verdict of a stored check, and the source of the published number."""
    kept = claim_values.read()["verdicts"]
    assert set(kept) == set(claims())
    lines = {line.split("`")[1]: line for line in pages["claims"].splitlines() if line.startswith("| `")}
    for name, verdict in claim_values.verdicts(claim_values.read()).items():
        cells = [cell.strip() for cell in lines[name].split(" | ")]
        assert cells[1] == verdict_text(verdict, quick=True)
        assert value_text(verdict) in cells[3]
        [citation] = bibliography().of_claim(name)
        assert f"]({citation.publication.address}), {citation.at} |" in lines[name]
    assert sum(verdict["known"] for verdict in kept.values()) == len(known_red())


def test_stored_values_are_those_of_a_check(tmp_path: Path) -> None:
    """Fields of `hostsim check --json`, for published claims only."""
    written = [*map(dict, as_json(VERDICTS, quick=True))]
    file = tmp_path / "claims.json"
    file.write_text(claim_values.text([*written, written[0] | {"claim": "x", "kind": "rule"}], quick=True, seed=1))
    kept = claim_values.read(file)
    assert (kept["fidelity"], kept["seed"]) == ("quick", 1)
    assert set(kept["verdicts"]) == {row["claim"] for row in written if row["kind"]} | {"x"}
    assert set(kept["verdicts"]["x"]) == set(claim_values.KEPT)


def test_every_publication_is_on_the_page_of_sources(pages: dict[str, str]) -> None:
    """Each has its address, and the short names used in texts."""
    for key, entry in bibliography().entries.items():
        assert (f"**{key}**: {entry.words}" in pages["sources"]) is (key != "hostsim")
        assert entry.address in pages["sources"]
    for words in set(bibliography().texts) - set(bibliography().subjects):
        assert f"| `{words}` | {{ref}}`" in pages["sources"]


def test_every_column_of_every_table_is_explained(pages: dict[str, str]) -> None:
    """Measures are on their page, everything else in the guide."""
    guide = (Path(__file__).parents[2] / "docs/guide/read-a-table.md").read_text(encoding="utf-8")
    others = set(to_table([]).columns) - set(rows(pages["measures"]))
    assert [name for name in (*others, *contexts.COLUMNS, *CPU_COLUMNS) if f"`{name}`" not in guide] == []
    assert all(f"{name}.parquet" in guide for name in ("table", "contexts", "cpu"))


def test_every_command_and_option_is_there(pages: dict[str, str]) -> None:
    """They are as on the command line."""
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        section = pages["command-line"].split(f"\n## `hostsim {name}`\n")[1].split("\n## ")[0]
        for parameter in command.get_params(typer.Context(command)):
            shown = max(parameter.opts, key=len)
            if parameter.param_type_name == "argument":
                shown = parameter.metavar or parameter.name
            assert shown in section, f"{name} {shown}"


def test_every_public_name_is_there(pages: dict[str, str]) -> None:
    """What `hostsim` offers."""
    assert [name for name in hostsim.__all__ if f"hostsim.{name}" not in pages["api"]] == []


def test_the_committed_pages_are_those_of_today(pages: dict[str, str]) -> None:
    """Otherwise `make reference` writes them again."""
    committed = {file.stem: file.read_text(encoding="utf-8") for file in COMMITTED.glob("*.md")}
    assert [name for name in {**committed, **pages} if committed.get(name) != pages.get(name)] == []


def test_the_interface_is_readable_without_sphinx(pages: dict[str, str]) -> None:
    """Signatures and docstrings instead of directives."""
    text = pages["api"]
    assert "eval-rst" not in text
    assert "hostsim.contexts(record: RunRecord" in text
    assert "| `curve` | A measure against an axis" in text
    assert [name for name in hostsim.__all__ if f"hostsim.{name}" not in text] == []


def test_the_run_options_are_documented(pages: dict[str, str]) -> None:
    """Each with its help, where functions with these arguments refer to."""
    for declared in OPTIONS.values():
        assert f" {declared.help} " in pages["api"]


def test_a_page_that_says_what_it_said_is_not_written_again(folder: Path) -> None:
    """A second build has nothing to do."""
    first = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert {file: file.stat().st_mtime_ns for file in write_pages(folder)} == first
    assert len(first) == len(PAGES)


def test_subjects_of_the_bibliography_are_links_in_prose_alone() -> None:
    """Code, headings and other numbers are unchanged."""
    page = '# facts 2.1\n\nAn exit (facts 2.2), `facts 2.2`, "facts 2.2", facts 2.22.\n\n```yaml\na: facts 2.2\n```\n\nSee facts-modern 3.\n'
    expected = page.replace("(facts 2.2)", "({ref}`facts 2.2 <source-facts-2-2>`)")
    assert linked(page) == expected.replace("facts-modern 3", "{ref}`facts-modern 3 <source-facts-modern-3>`")


def test_every_subject_has_a_place_on_the_page_of_sources(pages: dict[str, str]) -> None:
    """Each subject has its publications."""
    for name, subject in bibliography().subjects.items():
        part = pages["sources"].partition(f"### {name}: {subject.about}\n")[2].partition("###")[0]
        assert all(f"`{citation.publication.key} <" in part for citation, _ in subject.facts)

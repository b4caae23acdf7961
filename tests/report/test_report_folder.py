"""A results folder with its figures: an SVG and a PNG each, and a PDF on demand, named after the figure."""

from __future__ import annotations

from pathlib import Path

from hostsim.results.figure import AnswersSpec, FigureSpec
from hostsim.results.folder import read
from hostsim.views.report.folder import draw_figures, write
from tests.sample_results import results


def test_figures_are_written_after_tables_and_facts(tmp_path: Path) -> None:
    """Their names are valid on every file system."""
    files = write(results(), tmp_path)
    assert [file.name for file in files] == [
        *("table.parquet", "table.csv", "contexts.parquet", "cpu.parquet", "runs.parquet", "results.json"),
        *(f"{name}.{kind}" for name in ("loss", "odd-name") for kind in ("svg", "png")),
    ]
    assert all(file.is_file() for file in files)


def test_a_pdf_is_drawn_on_demand_and_never_left_behind_its_table(tmp_path: Path) -> None:
    """An existing one is replaced with the other files."""
    [loss] = (figure for figure in results().figures if figure.name == "loss")
    asked = draw_figures(results(figures=(loss,)), tmp_path, pdf=True)
    assert [file.name for file in asked] == ["loss.svg", "loss.png", "loss.pdf"]
    earlier = asked[-1].read_bytes()
    asked[-1].write_bytes(b"of other results")
    again = draw_figures(results(figures=(loss,)), tmp_path)
    assert [file.read_bytes() for file in again[2:]] == [earlier]


def test_figures_are_drawn_from_a_folder_as_from_the_results(tmp_path: Path) -> None:
    """Figures of answers are, too: their verdicts are in the folder."""
    figures = (AnswersSpec("steps", ("passes", "missing")), FigureSpec("loss", "receivers", "loss"))
    drawn = [file.read_bytes() for file in write(results(figures=figures), tmp_path / "run") if file.suffix == ".svg"]
    again = draw_figures(read(tmp_path / "run"), tmp_path / "plot")
    assert [file.name for file in again if file.suffix == ".svg"] == ["steps.svg", "loss.svg"]
    assert [file.read_bytes() for file in again if file.suffix == ".svg"] == drawn

"""A results folder with its figures: an SVG, a PNG and a PDF each, named after the figure."""

from __future__ import annotations

from pathlib import Path

from hostsim.results.figure import AnswersSpec, FigureSpec
from hostsim.results.folder import read
from hostsim.views.report.folder import draw_figures, write
from tests.sample_results import results


def test_figures_are_written_after_tables_and_facts(tmp_path: Path) -> None:
    """Under names that every file system takes."""
    files = write(results(), tmp_path)
    assert [file.name for file in files] == [
        *("table.parquet", "table.csv", "contexts.parquet", "cpu.parquet", "runs.parquet", "results.json"),
        *(f"{name}.{kind}" for name in ("loss", "odd-name") for kind in ("svg", "png", "pdf")),
    ]
    assert all(file.is_file() for file in files)


def test_figures_are_drawn_from_a_folder_as_from_the_results(tmp_path: Path) -> None:
    """Those of answers too: their verdicts are in the folder."""
    figures = (AnswersSpec("steps", ("passes", "missing")), FigureSpec("loss", "receivers", "loss"))
    drawn = [file.read_bytes() for file in write(results(figures=figures), tmp_path / "run") if file.suffix == ".svg"]
    again = draw_figures(read(tmp_path / "run"), tmp_path / "plot")
    assert [file.name for file in again if file.suffix == ".svg"] == ["steps.svg", "loss.svg"]
    assert [file.read_bytes() for file in again if file.suffix == ".svg"] == drawn

"""The gallery includes its pictures, at least one of each experiment."""

from __future__ import annotations

import re
from pathlib import Path

from hostsim_docs.gallery import experiments

FOLDER = Path(__file__).parents[2] / "docs" / "explanation"


def test_each_experiment_has_a_picture_and_no_picture_is_dead() -> None:
    """A renamed scenario makes the page stale: `make gallery`."""
    text = (FOLDER / "gallery.md").read_text()
    sections = text.split("\n## ")[1:]
    titles = [title for title, _, _ in experiments((FOLDER / "experiments.md").read_text())]
    assert [section.partition("\n")[0] for section in sections] == titles
    pictures = [re.findall(r"!\[[^]]+\]\(([^)]+)\)", section) for section in sections]
    assert all(pictures)
    assert all((FOLDER / picture).is_file() for found in pictures for picture in found)
    shown = {Path(picture).name for found in pictures for picture in found if picture.startswith("gallery/")}
    assert shown == {file.name for file in (FOLDER / "gallery").iterdir()}

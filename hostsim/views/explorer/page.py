"""Page of the explorer: one file with its data, its script and that of the charts; it opens without a server or a network."""

from __future__ import annotations

import json
from pathlib import Path

from hostsim.results.compare import baseline_folder, read_baseline
from hostsim.results.results import Explorer, Results
from hostsim.views.explorer.data import Side, explorer_data

__all__ = ["explorer_of", "write_explorer"]

_HERE = Path(__file__).parent


def write_explorer(path: Path, results: Results, folder: Path, against: Path | None = None) -> Path:
    """Write the page of the results of a folder as one self-contained HTML file; returns its path.

    Args:
        path: the file.
        results: of the folder.
        folder: for commands on the page.
        against: folder of earlier results of the same scenario, or one with such folders by scenario.

    Raises:
        InputError: the earlier results cannot be paired with these.
        StoreError: there are no earlier results, or the file cannot be written.
    """
    before = None
    if against is not None:
        place = baseline_folder(against, results.scenario)
        before = Side(_earlier(results, against), str(place), str(place))
    return Explorer(results.scenario, _page(Side(results, str(folder), str(folder)), before)).save(path)


def explorer_of(results: Results, against: Results | str | Path | None = None) -> Explorer:
    """The explorer of results in memory; see `hostsim.results.results.Results.explore`."""
    if against is None:
        return Explorer(results.scenario, _page(Side(results, results.label), None))
    earlier = _earlier(results, against)
    name = f"{earlier.label}, before" if earlier.label == results.label else earlier.label
    return Explorer(results.scenario, _page(Side(results, results.label), Side(earlier, name)))


def _earlier(results: Results, against: Results | str | Path) -> Results:
    told = results.provenance
    seed, ensemble = int(told["seed"]), told.get("ensemble", "")
    return read_baseline(against, results.scenario, quick=results.quick, seed=seed, ensemble=ensemble)


def _page(now: Side, before: Side | None) -> str:
    from jinja2 import Environment, StrictUndefined
    from jinja2.loaders import FileSystemLoader
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    data = explorer_data(now, before)
    # only these three could end a script element or begin a comment
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    files = {
        name: Markup((_HERE / file).read_text(encoding="utf-8"))  # noqa: S704  our own files and the vendored script
        for name, file in (("style", "explorer.css"), ("script", "explorer.js"), ("charts", "echarts/echarts.min.js"))
    }
    results = now.results
    return environment.get_template("page.html.j2").render(
        title=f"{results.scenario}{results.caveat}",
        question=results.question,
        data=Markup(text),  # noqa: S704
        **files,
    )

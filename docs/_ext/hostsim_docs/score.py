"""The score in texts and a figure: blocks of README and pages, written from ``docs/claims.json`` and from the first command of the README.

``python -m hostsim_docs.score`` writes them and the forest plot, as `make score` does; `make claims` also judges all
claims before. A block is between ``<!-- NAME: -->`` and ``<!-- :NAME -->``.
"""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from hostsim.config.files import write_whole
from hostsim.results.claim import LEVELS, Claim, topics
from hostsim.results.expect import Verdict
from hostsim.results.verdicts import OUTCOMES, number, outcome
from hostsim.scenario.shipped_data import claims
from hostsim.views.plots.style import as_svg
from hostsim_docs import claim_values
from hostsim_docs.fitted_count import count_fitted
from hostsim_docs.forest import draw_forest
from hostsim_docs.session import run_session

__all__ = ["FIGURE", "FIRST", "ROOT", "answer_blocks", "blocks", "figure", "levels", "main", "stale", "with_blocks"]

ROOT = Path(__file__).parents[3]
README, INDEX, CHANGELOG, EXPERIMENTS = (
    "README.md",
    "docs/index.md",
    "docs/changelog.md",
    "docs/explanation/experiments.md",
)
FIGURE = ROOT / "docs" / "images" / "score.svg"
"""The forest plot."""
FIRST = "hostsim run first-sweep --quick"
"""The first command of the README."""

Blocks = dict[tuple[str, str], str]
"""Texts by file and name of the block."""


def blocks(verdicts: Mapping[str, Verdict], *, quick: bool) -> Blocks:
    """The blocks that follow from stored verdicts; nothing is simulated.

    Args:
        verdicts: of the claims, by id.
        quick: their fidelity.
    """
    counts = Counter(outcome(verdict, quick=quick) for verdict in verdicts.values())
    score = (
        f"{_wrapped(f'{_sentence(counts, quick=quick)} `scenarios/known_red.yaml` has the reason for each known miss.')}\n\n"
        f"{levels(verdicts, 'docs/images')}"
    )
    default, split = (
        f"{number(verdicts[name].value)} receivers lose nothing, where {claims()[name].published} are published"
        for name in ("splitrx.default.40k", "splitrx.split.40k")
    )
    return {
        (README, "score"): f"\n{score}",
        (INDEX, "splitrx"): f"By default {default}; with splitRxMode {split}.",
        (INDEX, "score"): f"\n{_sentence(counts, quick=quick)}\n\n{levels(verdicts, 'images')}",
        (EXPERIMENTS, "fitted"): f"\n{_wrapped(f'{_coverage()} {count_fitted().sentence}')}\n",
        (CHANGELOG, "score"): _sentence(counts, quick=quick),
    }


def levels(verdicts: Mapping[str, Verdict], images: str) -> str:
    """The forest plot and the four levels of trust in Markdown.

    Args:
        verdicts: of the claims, by id.
        images: path to the folder of the figure.
    """
    lines = [f"- **{name}** {words}." for name, words in topics(_rows(verdicts)).items()]
    lines.append(" ".join(f"*{name.removesuffix(' for')}*: {meaning}." for name, meaning in LEVELS.items()))
    alt = "Forest plot of all claims: simulated over published, by experiment"
    *four, meanings = map(_wrapped, lines)
    return "\n".join([f"![{alt}]({images}/{FIGURE.name})", "", *four, "", meanings, ""])


def _wrapped(text: str) -> str:
    """Text in lines of at most 200 characters."""
    return "\n".join(textwrap.wrap(text, 200, subsequent_indent="  " * (text[0] == "-"), break_long_words=False))


def figure(verdicts: Mapping[str, Verdict]) -> str:
    """The forest plot as SVG text, on white."""
    return as_svg(draw_forest(_rows(verdicts)), opaque=True)


def _rows(verdicts: Mapping[str, Verdict]) -> list[tuple[Claim, Verdict]]:
    return [(claim, verdicts[claim.id]) for claim in claims().values() if claim.id in verdicts]


def _sentence(counts: Counter[str], *, quick: bool) -> str:
    """All outcomes in a sentence."""
    words = {
        "in band": "are reproduced (the whole interval lies in the accepted band)",
        "undecided": "are undecided",
        "known red": "are known misses",
        "red": "are new misses",
        "missing": "have no value",
    }
    *others, last = [f"{counts[name]} {words[name]}" for name in OUTCOMES if counts[name] or name == "in band"]
    counted = f"{', '.join(others)} and {last}" if others else last
    return f"Of {counts.total()} published numbers, at {'quick' if quick else 'full'} fidelity, {counted}."


def _coverage() -> str:
    """Coverage of the prediction intervals, from the pages about predictions and calibration."""
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("calibration.md", "predictions.md")]
    pattern = re.compile(r"^\| all (?:\| all )?\| (\d+) \| (\d+) \(", re.MULTILINE)
    (asked, inside), (_, alone), (measured, predicted) = (row for page in pages for row in pattern.findall(page))
    return (
        "[One calibration](../calibration.md) fits all constants together, from priors that were set without the claims. With each experiment left out in turn, "
        f"{inside} of {asked} claims lie in their 90 % prediction intervals, and {alone} do in those of constants and noise alone. "
        f"Of {measured} [measurements that nothing was fitted to](../predictions.md), predicted before they were compared, {predicted} lie in those of `--ensemble`."
    )


def answer_blocks(folder: Path) -> Blocks:
    """The blocks with output and figure of the README's first command, which is run in a folder.

    Raises:
        ValueError: the command failed.
    """
    import hostsim

    [done] = run_session([FIRST], folder)
    if done.status:
        raise ValueError(f"{FIRST} ended with status {done.status}: {done.output}")
    answer = done.output.rsplit("\n\n", 1)[0]
    results = hostsim.open_results(folder / "results" / "first-sweep")
    cpu, latency = (
        results.curve(x="interrupts", y=metric).set_index("interrupts") for metric in ("guest_cpu", "latency_p95")
    )
    least, most = cpu.index[0], cpu.index[-1]
    is_clear = cpu.loc[least, "high"] < cpu.loc[most, "low"]
    saved = 1 - cpu.loc[least, "mean"] / cpu.loc[most, "mean"]
    longer = latency.loc[least, "mean"] / latency.loc[most, "mean"]
    meaning = (
        f"{'Yes' if is_clear else 'Perhaps'}: at {least:,} interrupts a second instead of {most:,} the guests use {saved:.0%} less CPU".replace(
            "%", " %"
        )
        + f", and the 95th percentile of latency is {longer:.0f} times as long."
    )
    return {(README, "answer"): f"\n```text\n{answer}\n```\n", (README, "meaning"): meaning}


def with_blocks(text: str, file: str, found: Blocks) -> str:
    """A text with its blocks.

    Raises:
        ValueError: the text does not contain a block exactly once.
    """
    for (of, name), block in found.items():
        if of == file:
            pattern = rf"(<!-- {name}: -->).*?(<!-- :{name} -->)"
            replaced = block.replace("\\", r"\\")
            text, count = re.subn(pattern, rf"\g<1>{replaced}\g<2>", text, flags=re.DOTALL)
            if count != 1:
                raise ValueError(
                    f"{file}: {count} blocks {name!r}; allowed: one, between <!-- {name}: --> and <!-- :{name} -->"
                )
    return text


def stale(found: Blocks) -> list[str]:
    """The files whose blocks differ."""
    files = dict.fromkeys(file for file, _ in found)
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in files}
    return [file for file, text in texts.items() if with_blocks(text, file, found) != text]


def main() -> None:
    """Write the figure and all blocks."""
    kept = claim_values.read()
    verdicts = claim_values.verdicts(kept)
    print(write_whole(FIGURE, figure(verdicts).encode()).relative_to(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        found = blocks(verdicts, quick=kept["fidelity"] == "quick") | answer_blocks(Path(folder))
    for file in stale(found):
        write_whole(ROOT / file, with_blocks((ROOT / file).read_text(encoding="utf-8"), file, found).encode())
        print(file)


if __name__ == "__main__":
    main()

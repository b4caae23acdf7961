"""Page of the assumption studies: claim by assumption, the values at the ends of each range, flipped verdicts in bold.

``python -m hostsim_docs.assumptions_page FILE`` writes it, as `make cost-model` does for the documentation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hostsim.calibration.assumption import Move, Study, flipping, shipped_studies
from hostsim.calibration.freedom import FittedCount, FittedInput, count_fitted, read_fitted_inputs
from hostsim.files import write_whole
from hostsim.results.scoreboard import band_text, number
from hostsim.scenario.shipped_data import claims
from hostsim_docs.markdown import code, table

__all__ = ["page", "shipped_page"]

HEAD = """\
# What assumptions decide

`hostsim assumptions EXPERIMENT` moves every assumed constant and input that reaches an experiment to the ends of its range, all else as shipped, and judges the claims again: at the same points and on the same random numbers, a threshold at two points beside
it. A value in **bold** is of another verdict than the shipped host's: in the band and not, or the other way round. Where one or two replications say so, both verdicts are judged again by three, whose value is in the
table: chance alone flips nothing. What flips a verdict counts as fitted.

A value is *missing* where there is none: a threshold beyond its bracket, a percentile without bound on both sides of a ratio. A period that is longer than a run, such as `Net.NetTuneInterval` at 60 s, never passes in it: at that end the host does without what the period times.
"""


def page(studies: Sequence[Study], listed: dict[str, FittedInput], count: FittedCount) -> str:
    """The page of studies as Markdown.

    Args:
        studies: one for each experiment that was run.
        listed: what is known to count as fitted without a study, by name.
        count: of all.
    """
    lines = [HEAD, count.sentence, "", "## Verdicts that hang on an assumption", "", *_flips(studies)]
    for study in studies:
        lines += ["", f"## {study.name}", "", *_study(study)]
    lines += ["", "## Known without a study", ""]
    rows = [(code(name), ", ".join(entry.claims), entry.how, entry.evidence) for name, entry in listed.items()]
    lines.append(table(("assumption", "claims", "how", "evidence"), rows).rstrip())
    return "\n".join(lines) + "\n"


def _flips(studies: Sequence[Study]) -> list[str]:
    """A row for each assumption that flips a verdict, with the claims that it flips."""
    rows = []
    for name, moves in flipping(studies).items():
        by_end: dict[str, list[str]] = {}
        for move in moves:
            by_end.setdefault(move.end, []).append(f"{move.claim} ({_outcome(move)})")
        value = next(study.assumptions[name]["value"] for study in studies if name in study.assumptions)
        rows += [(code(name), value, end, ", ".join(flipped)) for end, flipped in by_end.items()]
    return [table(("assumption", "value", "at", "flips"), rows).rstrip()] if rows else ["None."]


def _outcome(move: Move) -> str:
    before, after = ("missing" if value is None else number(value) for value in (move.before, move.after))
    return f"{before} to {after}"


def _study(study: Study) -> list[str]:
    moved = tuple(dict.fromkeys(move.claim for move in study.moves))
    cells = {(move.assumption, move.end, move.claim): move for move in study.moves}
    reaching = tuple(dict.fromkeys((move.assumption, move.end) for move in study.moves))
    fidelity = "quick" if study.quick else "full"
    runs = f", {study.replications} run{'s' * (study.replications > 1)} of each point" if study.replications else ""
    reach, flip = len({name for name, _ in reaching}), len({move.assumption for move in study.flips})
    lines = [f"Of {study.date}, {fidelity} fidelity{runs}, seed {study.seed}, code `{study.code[:12]}`."]
    lines += [f"{len(study.assumptions)} assumptions, of which {reach} reach a claim and {flip} flip a verdict.", ""]
    before = {move.claim: move for move in study.moves}
    before |= {move.claim: move for move in study.moves if not move.confirmed}
    heads = [f"{claim} ({number(before[claim].before)}; {band_text(claims()[claim].band)})" for claim in moved]
    changing = {move.assumption for move in study.moves if move.flips or move.after != move.before}
    rows = [
        (
            code(name),
            study.assumptions[name]["value"],
            end,
            *(_cell(cells.get((name, end, claim))) for claim in moved),
        )
        for name, end in reaching
        if name in changing
    ]
    lines.append(table(("assumption", "value", "at", *heads), rows).rstrip())
    still = [name for name in study.assumptions if name not in changing]
    if study.refused:
        refused = dict.fromkeys(
            f"{code(one.assumption)} at {one.end} ({one.claim}: {one.reason})" for one in study.refused
        )
        lines += ["", f"No such host can be: {'; '.join(refused)}."]
    if still:
        at_ends = [f"{code(name)} ({study.assumptions[name]['ends']})" for name in still]
        lines += ["", f"Without any effect on any claim, at any end: {', '.join(at_ends)}."]
    return lines


def _cell(move: Move | None) -> str:
    """The value at an end, in bold where the verdict is another one; empty where the claim is not reached."""
    if move is None:
        return ""
    text = "missing" if move.after is None else number(move.after)
    return f"**{text}**" if move.flips else text


def shipped_page() -> str:
    """The page of the shipped studies."""
    return page(shipped_studies(), dict(read_fitted_inputs()), count_fitted())


if __name__ == "__main__":
    write_whole(Path(sys.argv[1]), shipped_page().encode())

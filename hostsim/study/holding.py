"""What holds each fitted constant: the claims of all experiments that would notice if it were another."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hostsim.scenario.published import claims, data_root
from hostsim.study.calibrate import HELD, STEP
from hostsim.study.constants import shipped_constants
from hostsim.study.residual import Bench

__all__ = ["Holding", "fitted", "holdings", "shipped_holdings"]


@dataclass(frozen=True, slots=True)
class Holding:
    """How far claims move, in half-widths of their bands, when one constant is a tenth larger and all others stay."""

    constant: str
    value: float
    """As shipped."""
    moves: Mapping[str, float]
    """By claim: those that move by a tenth of a half-width or more, and by more than their noise."""

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that these claims are of, each once."""
        return tuple(dict.fromkeys(claims()[name].experiment for name in self.moves))


def fitted() -> dict[str, float]:
    """The fitted constants by name, as shipped."""
    return {constant.name: constant.value for constant in shipped_constants() if constant.is_fitted}


def holdings(bench: Bench, names: Sequence[str] = ()) -> list[Holding]:
    """Move each fitted constant by a tenth, and see which claims of all experiments that have a band with two ends move.

    Args:
        bench: evaluates claims.
        names: of the constants; all that are fitted where none is named.

    Raises:
        InputError: an unknown constant.
        KeyboardInterrupt: Ctrl-C; everything finished is kept.
    """
    values = fitted()
    asked = list(names or values)
    halves = {
        claim.id: (claim.band.high - claim.band.low) / 2
        for claim in claims().values()
        if claim.band.low is not None and claim.band.high is not None and claim.band.high > claim.band.low
    }
    shipped, *moved = bench.judge(list(halves), [{}, *({name: values[name] * (1 + STEP)} for name in asked)])
    found = []
    for name, host in zip(asked, moved, strict=True):
        moves = {}
        for claim, half in halves.items():
            before, after = shipped[claim], host[claim]
            move = (after.smooth - before.smooth) / half
            if abs(move) >= HELD and abs(after.smooth - before.smooth) > math.hypot(before.doubt, after.doubt):
                moves[claim] = round(move, 3)
        found.append(Holding(name, values[name], moves))
    return found


def shipped_holdings() -> dict[str, Holding]:
    """What `hostsim calibrate --held-by` wrote of the shipped constants, by name."""
    files = sorted((data_root() / "calibration" / "held-by").glob("*.json"))
    found = [Holding(**json.loads(file.read_text(encoding="utf-8"))) for file in files]
    return {holding.constant: holding for holding in found}

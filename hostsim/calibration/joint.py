"""Joint calibration: all numbers at once against all observations, by waves of real runs, emulators and chains, to an ensemble of hosts.

Wave 0 spreads over the priors. Each wave after it runs hosts that the chains draw by the emulators so far, so that these learn where it
matters; the last of them is the ensemble. Everything that was run is in two files of a folder, from which a killed calibration goes on.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hostsim.calibration.design import Design, Evaluated, read_log, run_members
from hostsim.calibration.emulator import Emulator, train
from hostsim.calibration.fixed_point import FixedPoints
from hostsim.calibration.observation import Observation
from hostsim.calibration.posterior import Posterior, Target, sample
from hostsim.errors import Fault, InputError
from hostsim.files import write_whole
from hostsim.pipeline import ExecutionOptions
from hostsim.record import FloatArray

__all__ = ["Joint", "Waves"]

WAVE = 1000
"""Numbers of members a wave has room for: member 2003 is the third of wave 2."""
LOG, MEMBERS = "log.csv", "members.csv"
FARTHEST = 30.0
"""An emulator is not asked to tell hosts apart that are farther than this many half-widths from what was published."""


@dataclass(frozen=True)
class Waves:
    """Sizes of the waves of a calibration."""

    first: int = 160
    """Members of the design over the priors."""
    others: tuple[int, ...] = (50, 50)
    """Members of each wave after it; the last is the ensemble."""


@dataclass(frozen=True)
class Joint:
    """A joint calibration: its priors and observations, and the folder of what was run."""

    design: Design
    hosts: tuple[FixedPoints, ...]
    observations: tuple[Observation, ...]
    folder: Path
    """Holds ``log.csv``, a row a member with its claims, and ``members.csv``, the shares of the members that chains have drawn."""

    @property
    def experiments(self) -> tuple[str, ...]:
        """Names of the experiments, each once."""
        return tuple(dict.fromkeys(one.experiment for one in self.observations))

    def run(
        self,
        waves: Waves,
        execution: ExecutionOptions,
        *,
        budget_s: float = math.inf,
        tell: Callable[[Evaluated], None] | None = None,
    ) -> bool:
        """Run the waves as far as they are not in the folder.

        Args:
            waves: their sizes.
            execution: what runs are made with.
            budget_s: processor time of all members together after which none is begun.
            tell: called with each member that was run.

        Returns:
            True when every wave is there, False where the budget ended it.

        Raises:
            InputError: the folder holds another calibration.
            KeyboardInterrupt: Ctrl-C; what was run is kept.
        """
        shares = self.design.shares(waves.first)
        wanted = {number: self.design.values(row) for number, row in enumerate(shares)}
        for wave in range(len(waves.others) + 1):
            done = run_members(
                wanted, self.hosts, self.folder / LOG, execution, seed=self.design.seed, budget_s=budget_s, tell=tell
            )
            if not set(wanted) <= {one.member for one in done}:
                return False
            if wave < len(waves.others):
                drawn = self._drawn(wave + 1, waves.others[wave])
                wanted = {number: self.design.values(row) for number, row in drawn.items()}
        return True

    def evaluated(self) -> dict[int, Evaluated]:
        """The members that were run, by number."""
        names = [name for host in self.hosts for name in host.names]
        return {one.member: one for one in read_log(self.folder / LOG, names)}

    def shares(self) -> dict[int, FloatArray]:
        """Shares of the priors' probability of every member, by number: those of the design, and those that were drawn."""
        drawn = self._read_members()
        first = max((number for number in self.evaluated() if number < WAVE), default=0) + 1
        return dict(enumerate(self.design.shares(first))) | drawn

    def emulators(self) -> dict[str, Emulator]:
        """The emulators of all observations by name, trained on every member that was run: of distances in half-widths."""
        members, shares = self.evaluated(), self.shares()
        numbers = [number for number, one in members.items() if not one.error]
        inputs = np.array([shares[number] for number in numbers])
        found = {}
        for one in self.observations:
            outputs = np.array([one.distance(members[number].claims[one.name]) for number in numbers])
            found[one.name] = train(inputs, np.clip(outputs, -FARTHEST, FARTHEST), self.design.seed)
        return found

    def posterior(
        self,
        emulators: Mapping[str, Emulator],
        *,
        without: str = "",
        chains: int = 100,
        seed: int = 1,
    ) -> Posterior:
        """Sample the posterior by emulators.

        Args:
            emulators: of all observations.
            without: an experiment that is left out.
            chains: each gives one host.
            seed: of the chains.
        """
        experiments = self.experiments
        targets = [
            Target(one, experiments.index(one.experiment), emulators[one.name])
            for one in self.observations
            if one.experiment != without and emulators[one.name].spread > 0
        ]
        return sample(targets, len(self.design.priors), len(experiments), chains=chains, seed=seed)

    def _drawn(self, wave: int, count: int) -> dict[int, FloatArray]:
        """The members of a wave: those of the file, or new ones by the emulators of all waves before it."""
        before = self._read_members()
        kept = {number: row for number, row in before.items() if number // WAVE == wave}
        if not kept:
            posterior = self.posterior(self.emulators(), chains=count, seed=self.design.seed + wave)
            kept = {wave * WAVE + place: row for place, row in enumerate(posterior.shares)}
            self._write_members(before | kept)
        return kept

    def _write_members(self, members: Mapping[int, FloatArray]) -> None:
        names = [prior.name for prior in self.design.priors]
        lines = [",".join(["member", *names])]
        lines += [",".join([str(number), *(f"{share:.6f}" for share in row)]) for number, row in members.items()]
        write_whole(self.folder / MEMBERS, ("\n".join(lines) + "\n").encode())

    def _read_members(self) -> dict[int, FloatArray]:
        file = self.folder / MEMBERS
        if not file.exists():
            return {}
        with file.open(encoding="utf-8", newline="") as text:
            rows = list(csv.reader(text))
        names = [prior.name for prior in self.design.priors]
        if rows[0][1:] != names:
            other = sorted(set(rows[0][1:]).symmetric_difference(names))
            raise InputError(
                Fault(
                    "is of other priors",
                    str(file),
                    given=", ".join(other)[:200] or "another order",
                    allowed="an empty folder",
                )
            )
        return {int(number): np.array([float(share) for share in shares]) for number, *shares in rows[1:]}


def distances(observations: Sequence[Observation], evaluated: Evaluated) -> dict[str, float]:
    """Distances of a member's claims from what was published, in half-widths of their bands."""
    return {one.name: one.distance(evaluated.claims[one.name]) for one in observations}

"""Joint calibration of all numbers to all observations, by waves of runs, emulators and Markov chains.

Wave 0 covers the priors. Each further wave runs hosts that chains draw with the current emulators, which improves the
emulators near the posterior; the last wave is the ensemble. Two files in a folder hold all results, from which a killed
calibration resumes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hostsim.campaign.pipeline import ExecutionOptions
from hostsim.campaign.store import code_digest
from hostsim.config.files import write_whole
from hostsim.engine.record import FloatArray
from hostsim.errors import Fault, InputError
from hostsim.lab.calibration.fixed_point import FixedPoints
from hostsim.lab.calibration.observation import Observation
from hostsim.lab.calibration.posterior import LEAST, Emulator, Posterior, sample, train
from hostsim.lab.calibration.prior import Design, Evaluated, read_log, run_members
from hostsim.scenario.plan import Fidelity

__all__ = ["Joint", "Waves", "claim_values"]

WAVE = 1000
"""Range of the member numbers of a wave: member 2003 is the third of wave 2."""
LOG, MEMBERS, IDENTITY = "log.csv", "members.csv", "calibration.json"
FARTHEST = 60.0
"""Largest distance that an emulator distinguishes; infinite values have this distance."""


@dataclass(frozen=True)
class Waves:
    """Sizes of the waves of a calibration."""

    first: int = 160
    """Members of the design over the priors."""
    others: tuple[int, ...] = (50, 50)
    """Members of each further wave; the last is the ensemble."""


@dataclass(frozen=True)
class Joint:
    """A joint calibration: priors, observations, and the folder of its results."""

    design: Design
    host: FixedPoints
    observations: tuple[Observation, ...]
    folder: Path
    """Folder with ``log.csv``, one row for each member with its claims, and ``members.csv``, the prior shares of the
    members that chains drew.
    """

    def run(
        self,
        waves: Waves,
        execution: ExecutionOptions,
        *,
        budget_s: float = math.inf,
        report: Callable[[Evaluated], None] | None = None,
    ) -> bool:
        """Run the missing members of waves.

        Args:
            waves: their sizes.
            execution: workers and limits.
            budget_s: processor time of all members after which no further member starts.
            report: called with each finished member.

        Returns:
            True if every wave is finished, False if the budget is exhausted.

        Raises:
            InputError: the folder contains another calibration.
            KeyboardInterrupt: Ctrl-C; finished members are kept.
        """
        self._claim_folder()
        shares = self.design.shares(waves.first)
        hosts = {member_number: self.design.values(row) for member_number, row in enumerate(shares)}
        for wave in range(len(waves.others) + 1):
            done = run_members(
                hosts, self.host, self.folder / LOG, execution, seed=self.design.seed, budget_s=budget_s, report=report
            )
            if not set(hosts) <= {member.member for member in done}:
                return False
            if wave < len(waves.others):
                drawn = self._drawn(wave + 1, waves.others[wave])
                hosts = {member_number: self.design.values(row) for member_number, row in drawn.items()}
        return True

    def last_wave(self) -> dict[int, Evaluated]:
        """The ensemble: members of the last wave that are possible hosts, by number. Reads the whole log."""
        members = {member_number: member for member_number, member in self.evaluated().items() if not member.error}
        wave = max(member_number // WAVE for member_number in members)
        return {member_number: member for member_number, member in members.items() if member_number // WAVE == wave}

    def ensemble(self) -> dict[int, dict[str, float]]:
        """The hosts of the last wave by member number: values of constants and inputs by name."""
        shares = self.shares()
        return {member: self.design.values(shares[member]) for member in self.last_wave()}

    def evaluated(self) -> dict[int, Evaluated]:
        """The finished members, by number."""
        if not (self.folder / LOG).exists():
            return {}
        return {member.member: member for member in read_log(self.folder / LOG, self.host.names)}

    def shares(self) -> dict[int, FloatArray]:
        """Shares of the priors' probability for every member, designed or drawn, by number."""
        drawn = self._read_members()
        first = max((member for member in self.evaluated() if member < WAVE), default=0) + 1
        return dict(enumerate(self.design.shares(first))) | drawn

    def emulators(self) -> dict[str, Emulator]:
        """Emulators of the observations' distances (`Observation.distance`) by name, trained on all finished members.

        An observation with too few values has no emulator. Of several that are equal on every host, such as `host_cpu`
        and `host_used` without hyperthreads, only the first has one, as they are the same evidence.

        Raises:
            InputError: no observation has an emulator.
        """
        members, shares = self.evaluated(), self.shares()
        numbers = [member_number for member_number, member in members.items() if not member.error]
        inputs = np.array([shares[member_number] for member_number in numbers])
        emulators = {}
        distinct_outputs: set[bytes] = set()
        for observation in self.observations:
            values = np.array([members[member_number].claims[observation.name] for member_number in numbers])
            if values.tobytes() in distinct_outputs:
                continue
            distinct_outputs.add(values.tobytes())
            outputs = np.array([observation.distance(value) for value in values])
            if np.count_nonzero(np.isfinite(outputs)) >= LEAST:
                emulators[observation.name] = train(inputs, np.clip(outputs, -FARTHEST, FARTHEST), self.design.seed)
        if not emulators:
            raise InputError(
                Fault(
                    "has the same value for all hosts",
                    str(self.folder),
                    allowed=f"{LEAST} hosts with values",
                )
            )
        return emulators

    def posterior(self, emulators: Mapping[str, Emulator], *, chains: int = 100, seed: int = 1) -> Posterior:
        """Sample the posterior with emulators in place of runs.

        Args:
            emulators: of all observations.
            chains: number of chains, one host each.
            seed: of the chains.
        """
        targets = [
            (observation, emulator)
            for observation in self.observations
            if (emulator := emulators.get(observation.name)) is not None and emulator.spread > 0
        ]
        return sample(targets, len(self.design.priors), chains=chains, seed=seed)

    def _drawn(self, wave: int, count: int) -> dict[int, FloatArray]:
        """The members of a wave: from the file, or drawn with emulators that earlier waves trained."""
        before = self._read_members()
        kept = {member: row for member, row in before.items() if member // WAVE == wave}
        if not kept:
            posterior = self.posterior(self.emulators(), chains=count, seed=self.design.seed + wave)
            kept = {wave * WAVE + index: row for index, row in enumerate(posterior.shares)}
            self._write_members(before | kept)
        return kept

    def _claim_folder(self) -> None:
        """Write the identity of the calibration to its folder; an existing one is compared.

        Raises:
            InputError: the folder belongs to another calibration.
        """
        file, own = self.folder / IDENTITY, self._identity()
        if not file.exists():
            if (self.folder / LOG).exists():
                raise InputError(
                    Fault(f"contains {LOG} but no {IDENTITY}", str(self.folder), allowed="an empty folder")
                )
            write_whole(file, (json.dumps(own, indent=1) + "\n").encode())
            return
        try:
            kept = json.loads(file.read_bytes())
        except ValueError:
            kept = {}
        other = [name for name, value in own.items() if kept.get(name) != value]
        if other:
            allowed = "an empty folder, or the inputs that this calibration started with"
            raise InputError(
                Fault("contains another calibration", str(self.folder), f"other {', '.join(other)}", allowed)
            )

    def _identity(self) -> dict[str, object]:
        """Identity of a calibration: digests of everything except its size."""
        fidelity = Fidelity(quick=True, seed=self.design.seed)
        hosts = [task.point.id for task in self.host.plan(self.host.scenario, fidelity).tasks]
        return {
            "scenarios": [self.host.scenario.name],
            "seed": self.design.seed,
            "priors": _digest([repr(prior) for prior in self.design.priors]),
            "hosts": _digest(sorted(hosts)),
            "predictions": _digest(sorted(self.host.names)),
            "measurements": _digest([repr(observation) for observation in self.observations]),
            "version": code_digest(),
        }

    def _write_members(self, members: Mapping[int, FloatArray]) -> None:
        names = [prior.name for prior in self.design.priors]
        lines = [",".join(["member", *names])]
        lines += [",".join([str(member), *(f"{share:.6f}" for share in row)]) for member, row in members.items()]
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
                    "has other priors",
                    str(file),
                    given=", ".join(other)[:200] or "another order",
                    allowed="an empty folder",
                )
            )
        return {int(member): np.array([float(share) for share in shares]) for member, *shares in rows[1:]}


def claim_values(wave: Mapping[int, Evaluated], name: str) -> FloatArray:
    """The value of a claim on each host of a wave, in its unit."""
    return np.array([member.claims[name] for member in wave.values()])


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]

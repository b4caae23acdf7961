"""Runs and comparison with theory: passes, failures, and independence of workers."""

from __future__ import annotations

import pytest

from hostsim.lab.verification.oracle import Oracle, OracleOutcome, Quantity, compare_with_theory
from hostsim.lab.verification.runner import HEADINGS, QUICK, Effort, all_passed, oracles, rows, verify

TINY = Effort(replications=3, share=1 / 500, widening=1000)


def case(theory: float, most_half: float = 0.01) -> Oracle:
    quantity = Quantity("answer", theory, most_half)
    return Oracle("Group", "case", "parameters", (quantity,), lambda streams, portion: (theory,))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([99.9, 100.0, 100.1], OracleOutcome.ERROR),  # two degrees of freedom: 31.6 standard errors, too wide
        ([99.99, 100.0, 100.01], OracleOutcome.PASS),
        ([101.99, 102.0, 102.01], OracleOutcome.FAIL),
        ([100.0, 100.0, 100.0], OracleOutcome.PASS),
        ([100.0 + 1e-9] * 3, OracleOutcome.PASS),
        ([100.01] * 3, OracleOutcome.FAIL),
        ([100.0], OracleOutcome.ERROR),
    ],
)
def test_an_interval_passes_when_it_is_narrow_and_contains_theory(values, verdict):
    """An interval that is too wide is an error, whatever it contains."""
    [finding] = compare_with_theory(case(100.0), [(value,) for value in values])
    assert finding.outcome is verdict
    assert all_passed([finding]) == (verdict is OracleOutcome.PASS)


def test_shortened_runs_may_be_wider():
    """By the given factor, and no more."""
    values = [(99.9,), (100.0,), (100.1,)]
    assert [compare_with_theory(case(100.0), values, widening)[0].outcome for widening in (1.8, 1.9)] == [
        OracleOutcome.ERROR,
        OracleOutcome.PASS,
    ]


def test_oracles_draw_numbers_of_their_own():
    """The name decides: neither the catalogue's order nor the other oracles matter."""
    drawn: list[tuple[int, int]] = []

    def simulate(streams, portion):
        drawn.append((streams.seed, streams.replication))
        return (1.0,)

    for name in ("a", "b"):
        for replication in (0, 1):
            Oracle("Group", name, "", (Quantity("answer", 1.0),), simulate).run(7, replication, 1.0)
    assert len(set(drawn)) == 4
    assert {seed for seed, _ in drawn} == {7}


def test_workers_have_no_say():
    """The same results from one process and from two."""
    chosen = [oracle for oracle in oracles() if oracle.name in ("M/M/1/4, load 1.0", "Free-running tick, 10 kpps")]
    assert len(chosen) == 2
    told: list[tuple[int, int]] = []
    alone = verify(chosen, effort=TINY, jobs=1, progress=lambda done, total: told.append((done, total)))
    shared = verify(chosen, effort=TINY, jobs=2)
    assert [finding.interval for finding in alone] == [finding.interval for finding in shared]
    assert told == [(n, 6) for n in range(1, 7)]
    assert verify(chosen, seed=2, effort=TINY, jobs=1)[0].interval != alone[0].interval


def test_rows_give_theory_interval_and_outcome():
    """A row for each quantity."""
    good, bad = compare_with_theory(case(100.0), [(100.0,), (100.0,)]) + compare_with_theory(
        case(100.0), [(90.0,), (90.0,)]
    )
    assert rows([good, bad]) == [
        ("case", "answer", "100", "100", "100 to 100", "0.00 %", "pass"),
        ("case", "answer", "100", "90", "90 to 90", "0.00 %", "fail"),
    ]
    assert len(HEADINGS) == len(rows([good])[0])


def test_names_are_unique_and_short_runs_are_long_enough():
    """Each replication of a shortened run still has work."""
    found = oracles()
    assert len({oracle.name for oracle in found}) == len(found) > 40
    assert QUICK.share / QUICK.replications > 1 / 1000

"""Judging, running and writing down: what passes, what does not, and that workers have no say."""

from __future__ import annotations

import pytest

from hostsim.study.catalogue import oracles
from hostsim.study.oracle import Oracle, Quantity, Verdict, judge
from hostsim.study.report import rows, write_page
from hostsim.study.verify import QUICK, Fidelity, passed, verify

TINY = Fidelity(replications=3, share=1 / 500, widening=1000)


def case(theory: float, most_half: float = 0.01) -> Oracle:
    quantity = Quantity("answer", theory, most_half)
    return Oracle("Group", "case", "parameters", (quantity,), lambda draw, portion: (theory,))


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([99.9, 100.0, 100.1], Verdict.ERROR),  # two degrees of freedom: 31.6 standard errors, too wide
        ([99.99, 100.0, 100.01], Verdict.PASS),
        ([101.99, 102.0, 102.01], Verdict.FAIL),
        ([100.0, 100.0, 100.0], Verdict.PASS),
        ([100.0 + 1e-9] * 3, Verdict.PASS),
        ([100.01] * 3, Verdict.FAIL),
        ([100.0], Verdict.ERROR),
    ],
)
def test_an_interval_passes_when_it_is_narrow_and_contains_theory(values, verdict):
    """One that is too wide is an error, whatever it contains."""
    [finding] = judge(case(100.0), [(value,) for value in values])
    assert finding.verdict is verdict
    assert passed([finding]) == (verdict is Verdict.PASS)


def test_shortened_runs_may_be_wider():
    """By the factor that is asked for, and no more."""
    values = [(99.9,), (100.0,), (100.1,)]
    assert [judge(case(100.0), values, widening)[0].verdict for widening in (1.8, 1.9)] == [
        Verdict.ERROR,
        Verdict.PASS,
    ]


def test_oracles_draw_numbers_of_their_own():
    """The name is what decides: neither the order of the catalogue nor the other oracles."""
    drawn: list[tuple[int, int]] = []

    def simulate(draw, portion):
        drawn.append(draw)
        return (1.0,)

    for name in ("a", "b"):
        for replication in (0, 1):
            Oracle("Group", name, "", (Quantity("answer", 1.0),), simulate).run(7, replication, 1.0)
    assert len(set(drawn)) == 4
    assert {seed for seed, _ in drawn} == {7}


def test_workers_have_no_say():
    """The same findings from one process and from two."""
    chosen = [oracle for oracle in oracles() if oracle.name in ("M/M/1/4, load 1.0", "Free-running tick, 10 kpps")]
    assert len(chosen) == 2
    told: list[tuple[int, int]] = []
    alone = verify(chosen, fidelity=TINY, jobs=1, progress=lambda done, total: told.append((done, total)))
    shared = verify(chosen, fidelity=TINY, jobs=2)
    assert [finding.interval for finding in alone] == [finding.interval for finding in shared]
    assert told == [(n, 6) for n in range(1, 7)]
    assert verify(chosen, seed=2, fidelity=TINY, jobs=1)[0].interval != alone[0].interval


def test_the_page_holds_every_finding(tmp_path):
    """Introduction, counts, a row each under its group."""
    good, bad = judge(case(100.0), [(100.0,), (100.0,)]) + judge(case(100.0), [(90.0,), (90.0,)])
    page = tmp_path / "verification.md"
    write_page(page, [good, bad], seed=3, quick=True)
    text = page.read_text()
    assert "# Verification" in text
    assert "hostsim verify --quick --seed 3 --docs" in text
    assert "1 passed, 1 failed, 0 too wide" in text
    assert "| case: parameters | answer | 100 | 100 | 100 .. 100 | 0.00 % | 1 % | pass |" in text
    assert "| case: parameters | answer | 100 | 90 | 90 .. 90 | 0.00 % | 1 % | fail |" in text
    assert [row[-1] for row in rows([good, bad])] == ["verdict", "pass", "fail"]


def test_names_are_unique_and_short_runs_are_long_enough():
    """Each replication of a shortened run still has something to do."""
    found = oracles()
    assert len({oracle.name for oracle in found}) == len(found) > 40
    assert QUICK.share / QUICK.replications > 1 / 1000

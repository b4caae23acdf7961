"""A second opinion: Ciw, an independent queue simulator, for the cases that it can model.

Theory, hostsim and Ciw are held against each other in pairs, on short runs: each simulated interval must contain theory, and be no wider
than 8 % of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import ciw
import pytest

from hostsim.lab.verification import closed_form
from hostsim.lab.verification.oracle import LEVEL
from hostsim.lab.verification.runner import Effort, oracles, verify
from hostsim.results.estimate import student

REPLICATIONS = 24
MOST_HALF = 0.08


def ciw_runs(servers: int, load: float, room: float, arrivals: int) -> list[tuple[float, float]]:
    """Mean sojourn and share lost of each replication; a sixteenth of each run is cut."""
    rate = servers * load
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[servers],
        queue_capacities=[room],
    )
    length = arrivals / REPLICATIONS / rate
    found = []
    for replication in range(REPLICATIONS):
        ciw.seed(replication)
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(length)
        records = [r for r in simulation.get_all_records() if r.arrival_date > length / 16]
        served = [r.exit_date - r.arrival_date for r in records if r.record_type == "service"]
        lost = sum(r.record_type == "rejection" for r in records)
        found.append((sum(served) / len(served), lost / len(records)))
    return found


def agrees(values: Sequence[float], answer: float) -> None:
    interval = student(values, LEVEL)
    assert interval.half <= MOST_HALF * answer
    assert interval.low <= answer <= interval.high


@pytest.mark.parametrize(
    ("name", "servers", "load", "room", "arrivals", "answer"),
    [
        ("M/M/1, load 0.5", 1, 0.5, float("inf"), 60_000, 2.0),
        ("M/M/4, load 0.8", 4, 0.8, float("inf"), 120_000, 1 + closed_form.mmc_wait(4, 0.8)),
        ("M/M/1/4, load 1.0", 1, 1.0, 3, 60_000, closed_form.mm1k_loss(1.0, 4)),
    ],
)
def test_hostsim_ciw_and_theory_agree(name, servers, load, room, arrivals, answer):
    """Two simulators without common code, and a formula."""
    [oracle] = [oracle for oracle in oracles() if oracle.name == name]
    finding = verify([oracle], effort=Effort(REPLICATIONS, share=1 / 20, widening=MOST_HALF / 0.01), jobs=1)[0]
    assert finding.quantity.theory == pytest.approx(answer)
    ours = finding.interval
    assert ours.half <= MOST_HALF * answer
    assert ours.low <= answer <= ours.high
    measure = 1 if room < float("inf") else 0
    agrees([run[measure] for run in ciw_runs(servers, load, room, arrivals)], answer)

"""One plan alone; a sweep always runs together with others (`hostsim.campaign.driver.run_together`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hostsim.campaign.driver import Outcome, Progress, run_together
from hostsim.campaign.store import Store
from hostsim.scenario.plan import Plan


def run_all(plan: Plan, store: Store, *, progress: Callable[[Progress], None] | None = None, **options: Any) -> Outcome:
    """Run a plan; ``progress`` receives its state, the other options are those of `run_together`."""
    report = None if progress is None else lambda _plan, standing: progress(standing)
    [outcome] = run_together([plan], store, progress=report, **options)
    return outcome

"""Every oracle of `hostsim verify`, shortened.

A case is run for a twentieth of its full length in 24 replications. It passes if its 99.9 % interval contains the
theoretical value and is at most seven times as wide as the full case allows: 7 % of theory for a mean, 21 % at a load
of 0.95 or more and for a quantile.
"""

from __future__ import annotations

import pytest

from hostsim.lab.verification.runner import QUICK, all_passed, oracles, rows, verify


@pytest.mark.parametrize("oracle", oracles(), ids=lambda oracle: oracle.name)
def test_theory_and_simulation_agree(oracle):
    """Within an interval that is narrow enough to disagree."""
    results = verify([oracle], effort=QUICK, jobs=1)
    assert all_passed(results), rows(results)

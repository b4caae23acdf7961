"""Shipped scenarios and predictions, each loaded once for all tests of a worker."""

from __future__ import annotations

import functools

from hostsim.scenario.load import load
from hostsim.scenario.scenario import Scenario


@functools.cache
def loaded(name: str) -> Scenario:
    """The scenario of that name."""
    return load(name)

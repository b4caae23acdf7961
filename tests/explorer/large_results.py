"""Results of ten thousand points, and their page, made once for all tests of a worker."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd

from hostsim.results.metrics.catalogue import CATALOGUE
from tests.sample_results import results


@functools.cache
def large(side: int = 100):
    """Results of a sweep of two axes, with every measure of the catalogue."""
    first, second = (values.ravel() for values in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    noise = np.random.default_rng(1).normal(size=(len(CATALOGUE), side * side))
    columns = {name: np.abs(10 * noise[place] + first * (place % 7) + second) for place, name in enumerate(CATALOGUE)}
    head = {"point": [f"p{number}" for number in range(side * side)], "replication": 0, "seed": 1}
    made = pd.DataFrame(head | {"receivers": first, "window": second} | columns)
    made = made.assign(bottleneck=np.where(first > side / 2, "context vmnic0", "none"), flags="", error="")
    made.attrs |= {"units": {}, "provenance": {"seed": "1"}}
    return results(table=made, verdicts=())


@functools.cache
def large_page() -> str:
    """Its page, which takes seconds to make."""
    return large().explore().html

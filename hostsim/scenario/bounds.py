"""How many runs a point may have, and what seeds there are: for files, options and Python alike. Imports nothing."""

from __future__ import annotations

from typing import Final

__all__ = ["MOST_REPLICATIONS", "MOST_SEED"]

MOST_REPLICATIONS: Final = 1000
"""Runs that a point may have."""
MOST_SEED: Final = 2**64 - 1
"""Largest root seed: a column of integers holds no larger one."""

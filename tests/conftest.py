"""Tests take parts of hosts apart, put others in their place and break them, which compiled classes do not allow: they run the sources, unless `make` says otherwise.

No test depends on the machine, the user or the terminal: on time, the number of processors, variables of the environment, or what an earlier run has left.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings

# before hostsim is imported; `test_compiled` holds compiled runs against these
os.environ.setdefault("HOSTSIM_PURE", "1")

HANGS_S = 600.0
"""Time on the wall after which whatever a test waits for is taken to hang, on any machine under any load. Nothing is measured by it."""

# No deadline: an example takes longer on a busy machine. The same examples everywhere, and none kept in the checkout, which may be
# read-only: `make fuzz` draws others.
settings.register_profile("hostsim", deadline=None, database=None, derandomize=True)
settings.register_profile("random", deadline=None, database=None, max_examples=1000)
settings.load_profile("hostsim")

ROOT = Path(__file__).resolve().parents[1]
PROFILE = "hostsim-matplotlib-"


@pytest.hookimpl(trylast=True)  # pytest has looked by then whether its own output is coloured
def pytest_configure() -> None:
    """Set the environment of the tests and of all that they start: a terminal, a time zone, no option of Python, no settings of a user."""
    for name in [*os.environ]:
        if name.startswith("PYTHON") or name in {"FORCE_COLOR", "CLICOLOR_FORCE", "OPENBLAS_NUM_THREADS", "MPLBACKEND"}:
            del os.environ[name]
    os.environ.update(PYTHONPATH=str(ROOT), COLUMNS="80", LINES="24", NO_COLOR="1", TZ="UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    # one for all workers of a test run, and for tests of a copy of this tree that it starts: it takes seconds to fill
    if not Path(os.environ.get("MPLCONFIGDIR", "")).name.startswith(PROFILE):
        os.environ["MPLCONFIGDIR"] = folder = tempfile.mkdtemp(prefix=PROFILE)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Number of workers for ``-n auto``: the product's own count, which knows the quota of a container; None where a variable says it."""
    from hostsim.campaign.processors import processor_count

    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else processor_count()


@pytest.fixture(scope="session")
def slowness() -> float:
    """Processor time of a fixed piece of work, in those of the machine that budgets were written on; 1 on a faster one."""
    times = []
    for _ in range(5):
        began = time.process_time()
        sum(number * number % 7 for number in range(300_000))
        times.append(time.process_time() - began)
    return max(1.0, min(times) / 0.02)

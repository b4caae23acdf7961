"""Environment of all tests; tests run the sources, because they replace and break parts of hosts.

No test depends on the machine, the user or the terminal: on time, the number of processors, variables of the environment, or what an earlier run has left.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings

# before hostsim is imported; `test_compiled` compares compiled runs with these
os.environ.setdefault("HOSTSIM_PURE", "1")

HANGS_S = 600.0
"""Wall-clock limit after which a wait counts as a hang, on any machine under any load. Nothing is measured by it."""

# No deadline: an example takes longer on a busy machine. The same examples everywhere, and none stored in the checkout,
# which may be read-only: `make fuzz` draws others.
settings.register_profile("hostsim", deadline=None, database=None, derandomize=True)
settings.register_profile("random", deadline=None, database=None, max_examples=1000)
settings.load_profile("hostsim")

ROOT = Path(__file__).resolve().parents[1]
PROFILE = "hostsim-matplotlib-"


def pytest_collection() -> None:
    """Collect no garbage while modules are imported and tests are listed, since nearly all objects stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave out of later garbage collections the objects that exist by now."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)  # pytest has already checked whether its own output is coloured
def pytest_configure() -> None:
    """Set the environment of the tests and their subprocesses: terminal, time zone, no Python options, no user settings."""
    for name in [*os.environ]:
        if name.startswith("PYTHON") or name in {"FORCE_COLOR", "CLICOLOR_FORCE", "OPENBLAS_NUM_THREADS", "MPLBACKEND"}:
            del os.environ[name]
    os.environ.update(PYTHONPATH=str(ROOT), COLUMNS="80", LINES="24", NO_COLOR="1", TZ="UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    # one for all workers of a test run, and for tests of a copy of this tree: it takes seconds to fill
    if not Path(os.environ.get("MPLCONFIGDIR", "")).name.startswith(PROFILE):
        os.environ["MPLCONFIGDIR"] = folder = tempfile.mkdtemp(prefix=PROFILE)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Number of workers for ``-n auto``: hostsim's own count, which includes a container's quota; None if a variable gives it."""
    from hostsim.campaign.processors import processor_count

    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else processor_count()


@pytest.fixture(scope="session")
def slowness() -> float:
    """Processor time of a fixed piece of work, relative to the reference machine of the budgets; 1 on a faster one."""
    times = []
    for _ in range(5):
        began = time.process_time()
        sum(number * number % 7 for number in range(300_000))
        times.append(time.process_time() - began)
    return max(1.0, min(times) / 0.02)

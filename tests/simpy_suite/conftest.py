"""The environment of SimPy's tests is a clock; two of them are known not to pass, and must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostsim.engine.clock import Clock

KNOWN = {
    "test_run_until_value": "runs until 3.141592; simulated time is whole picoseconds, and the clock refuses floats",
    "test_exception_chaining": "compares the traceback with one through SimPy's own files, and the clock's are others",
}
HERE = Path(__file__).parent


@pytest.fixture
def env() -> Clock:
    return Clock()


@pytest.fixture
def log() -> list[object]:
    return []


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker("slow")
            if item.originalname in KNOWN:
                item.add_marker(pytest.mark.xfail(reason=KNOWN[item.originalname], strict=True))

"""Output of an undisturbed sweep, made once."""

from __future__ import annotations

import pytest

from tests.faults import sweep


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Everything of it that is comparable."""
    folder = sweep.write(tmp_path_factory.mktemp("undisturbed"))
    status, told = sweep.run(folder, "--jobs", "1")
    assert status == 0, told
    found = sweep.content(folder)
    assert len(found) == sweep.RUNS + 4
    return found

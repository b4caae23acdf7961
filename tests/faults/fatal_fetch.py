"""A run that succeeds, and whose record kills its worker when it is fetched, once."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hostsim.engine.record import RunRecord, Scalar
from tests.campaign.toy_runs import toy_record


class Fatal:
    """A fact that kills the process that pickles it first, and leaves a file."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        try:
            Path(self.file).touch(exist_ok=False)
        except FileExistsError:
            return str, ("harmless",)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def simulate(
    spec: Mapping[str, Any], *, point_id: str, axes: Mapping[str, Scalar], seed: int, replication: int
) -> RunRecord:
    """Such a run; the spec has the file."""
    return toy_record(seed, replication, point_id=point_id, axes=axes, facts={"fact": Fatal(spec["file"])})

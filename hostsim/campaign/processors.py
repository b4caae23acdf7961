"""Number of processors that this process may use, by its CPU affinity and the quota of its control groups."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

__all__ = ["processor_count"]


def processor_count(system: Path = Path("/")) -> int:
    """Return the number of processors that this process may use, at least 1.

    ``docker --cpus 2`` and a service's ``CPUQuota=200%`` do not change the affinity; they limit the processor time in a
    period.

    Args:
        system: the root of the file system, in which Linux shows control groups.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not available on macOS and Windows
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(count, math.ceil(min(_quotas(system), default=count))))


def _quotas(system: Path) -> Iterator[float]:
    """Yield the quota, in processors, of each control group that has one, from this process up to the root."""
    for line in _text(system / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = (controllers, "cpu") if controllers else ("", "unified")  # version 1, version 2
        inside = PurePosixPath(group.lstrip("/"))
        for mount in mounts:
            # in a container without a cgroup namespace, the path is the host's, and the mount is the container's
            for path in (inside, *inside.parents):
                folder = system / "sys/fs/cgroup" / mount / path
                period = _text(folder / "cpu.cfs_period_us") if controllers else ""
                words = f"{_text(folder / 'cpu.cfs_quota_us')} {period}" if controllers else _text(folder / "cpu.max")
                numbers = words.split()
                if len(numbers) == 2 and numbers[0].isdecimal():  # else "max", or -1
                    yield int(numbers[0]) / int(numbers[1])


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""

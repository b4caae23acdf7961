"""Number of processors: by affinity, within the quota of control groups of both versions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hostsim.campaign.processors import processor_count


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """An affinity of 64 processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("", {}, 64),
        ("0::/", {"cpu.max": "max 100000"}, 64),
        ("0::/", {"cpu.max": "100000 100000"}, 1),
        ("0::/", {"cpu.max": "250000 100000"}, 3),
        ("0::/", {"cpu.max": "5000 100000"}, 1),
        ("0::/", {"cpu.max": "9900000 100000"}, 64),
        # of the group or of one above it, whichever is smaller
        ("0::/user.slice/app", {"user.slice/app/cpu.max": "max 100000", "user.slice/cpu.max": "200000 100000"}, 2),
        ("0::/user.slice/app", {"user.slice/app/cpu.max": "300000 100000", "user.slice/cpu.max": "400000 100000"}, 3),
        # the path of another namespace
        ("0::/docker/a1b2", {"cpu.max": "200000 100000"}, 2),
        ("2:memory:/\n1:cpu,cpuacct:/", {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 64),
        ("1:cpu:/docker/a1b2", {"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "50000\n"}, 3),
        ("1:cpuacct,cpu:/x\n0::/", {"cpu/x/cpu.cfs_quota_us": "200000", "cpu/x/cpu.cfs_period_us": "100000"}, 2),
        ("1:name=systemd:/\n0::/x", {"unified/x/cpu.max": "400000 100000"}, 4),
    ],
)  # fmt: skip
def test_a_quota_limits_the_number(tmp_path: Path, groups: str, files: dict[str, str], expected: int) -> None:
    """The quota is processor time for each period, as set by ``docker --cpus`` and systemd's ``CPUQuota``; the number is rounded up."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert processor_count(tmp_path) == expected


def test_the_affinity_limits_the_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system without one, all processors count."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert processor_count(tmp_path) == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processor_count(tmp_path) == 1

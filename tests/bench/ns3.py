"""ns-3 on the same traffic as hostsim, built and run here if it is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("ns3_multicast.cc")
MODULES = ("ns3-core", "ns3-network", "ns3-internet", "ns3-csma", "ns3-applications")
HOW = "ns-3 is not installed, its figures are null; on Debian: apt-get install libns3-dev libgsl-dev libxml2-dev libsqlite3-dev"


def build(folder: Path) -> Path | None:
    """The compiled program, or None (with a message on stderr) if ns-3 is not installed."""
    compiler = shutil.which("g++")
    flags = (
        subprocess.run(["pkg-config", "--cflags", "--libs", *MODULES], capture_output=True, text=True, check=False)
        if shutil.which("pkg-config")
        else None
    )
    if compiler is None or flags is None or flags.returncode:
        print(HOW, file=sys.stderr)
        return None
    program = folder / "ns3_multicast"
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        subprocess.run(
            [compiler, "-O2", "-std=c++17", str(SOURCE), "-o", str(program), *flags.stdout.split()], check=True
        )
    return program


def deliveries_per_s(program: Path, receivers: int, rate: float, seconds: float) -> float:
    """Deliveries per second of processor time."""
    run = subprocess.run(
        [str(program), f"--receivers={receivers}", f"--rate={rate}", f"--seconds={seconds}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)

"""Chains of worlds on a bare scheduler, twice: with SimPy alone, and as a hostsim host. As a program, it prints JSON.

Forty PCPUs, 470 chains of forty stages, Poisson arrivals at each head: a stage holds its PCPU for 3 us and 60 us a packet,
then passes its batch to the next stage.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import simpy

from hostsim.engine import compiled

PCPUS, CHAINS, STAGES, RATE = 40, 470, 40, 25.0
WORLD = Path("tests/bench/chain_world.py")
FOLDER = Path("build/bench")
"""Folder in which the hot modules are compiled together with the world of the chains; separately compiled code could only be called through Python."""


class _Stage:
    """The smallest schedulable object."""

    __slots__ = ("batch", "following", "queue", "runnable")

    def __init__(self, following: _Stage | None) -> None:
        self.queue: deque[float] = deque()
        self.batch: list[float] = []
        self.runnable = False
        self.following = following


def floor_us(seconds: float = 2.0) -> float:
    """Microseconds of processor time per dispatch with SimPy alone: waking a stage starts its burst as one Timeout."""
    env = simpy.Environment()
    ready: deque[_Stage] = deque()
    idle = PCPUS
    dispatches = 0

    def start(stage: _Stage) -> None:
        nonlocal dispatches
        dispatches += 1
        stage.batch = list(stage.queue)
        stage.queue.clear()
        burst = simpy.Timeout(env, 3e-6 + 60e-6 * len(stage.batch), stage)
        assert burst.callbacks is not None
        burst.callbacks.append(end)

    def end(burst: simpy.Event) -> None:
        nonlocal idle
        stage = burst.value
        following = stage.following
        if following is not None:
            following.queue.extend(stage.batch)
            if not following.runnable:
                following.runnable = True
                ready.append(following)
        if stage.queue:
            ready.append(stage)
        else:
            stage.runnable = False
        if ready:
            start(ready.popleft())
        else:
            idle += 1

    def source(stage: _Stage, draw: random.Random):
        nonlocal idle
        while True:
            yield env.timeout(draw.expovariate(RATE))
            stage.queue.append(env.now)
            if not stage.runnable:
                stage.runnable = True
                if idle:
                    idle -= 1
                    start(stage)
                else:
                    ready.append(stage)

    draw = random.Random(1)
    for _ in range(CHAINS):
        head: _Stage | None = None
        for _ in range(STAGES):
            head = _Stage(head)
        assert head is not None
        env.process(source(head, draw))
    started = time.process_time()
    env.run(seconds)
    return (time.process_time() - started) / dispatches * 1e6


def build() -> None:
    """Compile the world of the chains, or print why it is interpreted."""
    made = subprocess.run(
        [sys.executable, ".ci/compile.py", str(FOLDER), str(WORLD)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        last = "\n".join((made.stdout + made.stderr).splitlines()[-5:])
        print(f"the chains' own worlds could not be compiled and are interpreted:\n{last}", file=sys.stderr)


def run(seconds: float = 2.0) -> dict[str, float]:
    """Figures of both; this process must not have imported the hot modules yet."""
    compiled.use(FOLDER, [WORLD])
    from tests.bench.chain_world import hostsim_us

    floor = floor_us(seconds)
    ours, events = hostsim_us(seconds)
    return {"floor_dispatch_us": floor, "hostsim_dispatch_us": ours, "hostsim_events_per_dispatch": events}


if __name__ == "__main__":
    print(json.dumps(run()))

"""Ctrl-C during a run in this process ends the run soon, and never the process, compiled or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import numpy as np
import pytest

import hostsim.campaign.simulate as simulate_module
import hostsim.views.trace as recorder_module
from hostsim.campaign.deferred_sigint import deferred_sigint
from hostsim.config.host import PointSpec
from hostsim.engine import compiled
from hostsim.engine.arrivals import DrawnArrivals
from hostsim.engine.clock import PIECE, Alarm, Clock
from hostsim.engine.ring import Stream
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity, point_at
from hostsim.units import SECOND
from hostsim.views.trace import observe
from tests.conftest import HANGS_S


@pytest.fixture(autouse=True)
def _hears_ctrl_c() -> Iterator[None]:
    """Like a program that a user started: the workers of a test run ignore Ctrl-C."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, former)


def long_host() -> PointSpec:
    """A host whose run would take an hour; the rate is a fraction of big integers."""
    axes = {"receivers": 4, "split": "0", "rate": "31.415926535 kpps"}
    point = point_at(load("splitrx"), axes, Fidelity(quick=True))
    return point.spec.model_copy(update={"length": 1000 * SECOND})


@contextmanager
def pressed(module: ModuleType, seconds: float) -> Iterator[None]:
    """Ctrl-C from another process, a time after a run of that module has begun, which would last for hours.

    A thread would wait for the interpreter, and the signal come where that may take it.
    """
    presses: list[subprocess.Popen[bytes]] = []

    def build(*arguments: Any, **named: Any) -> Host:
        presses.append(subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -INT {os.getpid()}"]))
        return build_host(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "build_host", build)
        yield
    for process in presses:
        process.wait()


def interrupt_a_run(seconds: float) -> None:
    """A run that Ctrl-C ends; otherwise it would last for hours."""
    with pressed(simulate_module, seconds), pytest.raises(KeyboardInterrupt):
        simulate_module.simulate(long_host(), point_id="x", axes={}, seed=1, replication=0)


def test_a_run_ends_after_ctrl_c() -> None:
    """The handler is restored, which the fixture checks; the number of events is tested below."""
    interrupt_a_run(0.3)


def test_a_watched_run_ends_after_ctrl_c() -> None:
    """Before and inside its window."""
    for begin in (0, 500 * SECOND):
        with pressed(recorder_module, 0.5), pytest.raises(KeyboardInterrupt):
            observe(long_host(), seed=1, replication=0, begin=begin, end=1000 * SECOND)


@pytest.mark.parametrize("pure", ["", "1"])
def test_ctrl_c_does_not_abort_the_process(pure: str) -> None:
    """Six runs in another process: arithmetic in compiled code once took the interrupt for a lack of memory in most runs."""
    if not pure and not compiled.fits():
        pytest.skip("nothing is compiled")
    done = subprocess.run(
        [sys.executable, "-m", "tests.campaign.test_deferred_sigint"],
        env={**os.environ, compiled.PURE: pure},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, [str(not pure), "6"]), done.stderr


def test_what_was_held_back_is_done_at_the_end() -> None:
    """It is also done without a checkpoint, and after another exception."""
    reached: list[str] = []

    def press_and(do: Callable[[], object]) -> None:
        with deferred_sigint():
            os.kill(os.getpid(), signal.SIGINT)
            do()

    with pytest.raises(KeyboardInterrupt):
        press_and(lambda: reached.append("the end"))
    assert reached == ["the end"]
    with pytest.raises(KeyboardInterrupt):
        press_and(lambda: int("no number"))


def test_one_within_another_is_the_same() -> None:
    """The inner one delivers at once, and leaves the outer one in place."""
    with deferred_sigint() as outer:
        with deferred_sigint() as inner:
            assert inner is outer
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                inner.deliver()
        assert signal.getsignal(signal.SIGINT) is outer
        outer.deliver()  # it is done


def test_a_handler_of_the_caller_is_called() -> None:
    """Once, and the run continues if it does not raise."""
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    signal.signal(signal.SIGINT, hear)
    with deferred_sigint() as handler:
        os.kill(os.getpid(), signal.SIGINT)
        assert heard == []
        handler.deliver()
        handler.deliver()
    assert heard == [signal.SIGINT]
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is hear


def test_where_no_handler_is_nothing_is_put_in_its_place() -> None:
    """A worker ignores Ctrl-C; and other threads cannot set a handler."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred_sigint() as handler:
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        handler.deliver()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seen: list[object] = []

    def look() -> None:
        with deferred_sigint() as handler:
            handler.deliver()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_arrivals_without_end_are_interrupted() -> None:
    """All of them at one instant, within one event."""
    drawn: list[int] = []

    def draw(number: int) -> np.ndarray:
        drawn.append(number)
        if len(drawn) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(number)

    with deferred_sigint():
        arrivals = DrawnArrivals(draw, 0)
        with pytest.raises(KeyboardInterrupt):
            arrivals.collect(1, Stream())
    assert len(drawn) == 3


def test_a_checkpoint_comes_after_so_many_events() -> None:
    """For any number of events at one instant."""
    clock, fired = Clock(), []

    def again(alarm: Alarm) -> None:
        fired.append(clock.now)
        if len(fired) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        clock.at(alarm, clock.now)

    clock.at(Alarm(clock, again), 7)
    with deferred_sigint(), pytest.raises(KeyboardInterrupt):
        clock.advance(SECOND)
    assert len(fired) == PIECE
    assert clock.now == 7


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for attempt in range(6):
        interrupt_a_run(0.2 + 0.1 * attempt)
    print(compiled.in_use(), attempt + 1)

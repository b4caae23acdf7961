"""Events on small hosts are the same as in the accepted fingerprints.

``tests/baseline/*.yaml`` hold the accepted fingerprints; `docs/fingerprints.md` says when and how one is added.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hostsim.engine.clock import Clock
from hostsim.engine.random_stream import Streams
from hostsim.engine.ring import Ring
from hostsim.model.cpu.pcpu import Pcpu
from hostsim.model.cpu.scheduler import Scheduler
from hostsim.scenario.load import load
from hostsim.scenario.plan import point_at
from hostsim.units import seconds_to_ps
from tests.fingerprint import differences, fingerprint
from tests.writable_copy import copy_tree

BASELINE = Path(__file__).parent / "baseline"
NAMES = sorted(file.stem for file in BASELINE.glob("*.yaml"))
ACCEPT = "HOSTSIM_ACCEPT_FINGERPRINTS"


def baseline(name: str) -> dict[str, Any]:
    kept: dict[str, Any] = yaml.safe_load((BASELINE / f"{name}.yaml").read_text(encoding="utf-8"))
    return kept


def take(name: str, folder: Path, text: str | None = None, clock: Clock | None = None) -> dict[str, str]:
    kept = baseline(name)
    file = folder / "host.yaml"
    copy_tree(BASELINE / "hardware", folder / "hardware")
    file.write_text(text or yaml.safe_dump(kept["host"], sort_keys=False), encoding="utf-8")
    return fingerprint(point_at(load(file), {}).spec, seconds_to_ps(kept["seconds"]), clock)


@pytest.mark.parametrize("name", NAMES)
def test_a_small_host_does_what_it_did(name: str, tmp_path: Path) -> None:
    """The trajectory and the final scalars are among the accepted ones; otherwise the message names the differences."""
    kept = baseline(name)
    found = take(name, tmp_path)
    wrong = differences(found, kept["accepted"])
    if wrong and ACCEPT in os.environ:
        kept["accepted"].append(found)
        (BASELINE / f"{name}.yaml").write_text(yaml.safe_dump(kept, sort_keys=False, width=100), encoding="utf-8")
        return
    assert not wrong, f"the fingerprint of {name} is not an accepted one:\n{wrong}\nsee docs/fingerprints.md"


def test_every_kind_of_small_host_has_a_fingerprint() -> None:
    """Each of `docs/fingerprints.md` is stored."""
    text = (BASELINE.parents[1] / "docs/fingerprints.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \| \d", text, re.MULTILINE) == NAMES


def test_a_fingerprint_does_not_see_names(tmp_path: Path) -> None:
    """VMs, traffic and switches with other names change no ingredient."""
    text = yaml.safe_dump(baseline("mixed")["host"], sort_keys=False)
    for name in ("receiver", "worker", "stream", "load", "vSwitch0"):
        assert name in text
        text = re.sub(rf"\b{name}\b", f"another_{name}", text)
    assert differences(take("mixed", tmp_path, text), baseline("mixed")["accepted"]) == ""


def moved(name: str, folder: Path) -> set[str]:
    """Ingredients that differ from the accepted ones."""
    found, accepted = take(name, folder), baseline(name)["accepted"][-1]
    return {key for key in found if found[key] != accepted[key]}


def test_a_lost_packet_moves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One packet of the first train with several packets after the hundredth is lost."""
    original, pushes, lost = Ring.push, [0], [False]

    def push(self, train):
        pushes[0] += 1
        if pushes[0] >= 100 and train.count > 1 and not lost[0]:
            lost[0] = True
            train.count -= 1
        original(self, train)

    monkeypatch.setattr(Ring, "push", push)
    assert {"tpkv", "s"} <= moved("default", tmp_path)


def test_a_double_charge_moves_values_and_scalars_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A world that pays twice at a sample runs at the same time: no waiting world could move because of it."""
    original = Pcpu.charge

    def charge(self, now):
        if self.running is not None:
            self.running.used += now - self.charged
        original(self, now)

    monkeypatch.setattr(Pcpu, "charge", charge)
    assert moved("default", tmp_path) == {"v", "s", "tpkv"}


def test_a_wrong_tie_break_moves_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A waking world that finds its PCPU busy goes to the one idle for the longest time instead of the shortest."""
    original = Scheduler.wake

    def wake(self, world, now, source=None):
        idle = world.node.idle
        idle._look(idle._all, None)
        queues = idle.queues()
        if queues and world.last not in queues:
            idle.remove(queues[0])
            idle.put(queues[0])
        original(self, world, now, source)

    monkeypatch.setattr(Scheduler, "wake", wake)
    assert "p" in moved("mixed", tmp_path)


def test_a_shifted_stream_moves_random_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One random number is drawn too many before a stream is used."""
    original = Streams.stream

    def stream(self, *scope):
        generator = original(self, *scope)
        generator.random()
        return generator

    monkeypatch.setattr(Streams, "stream", stream)
    assert {"r", "t", "s"} <= moved("work", tmp_path)


def test_a_failing_fingerprint_says_old_new_and_what_moved() -> None:
    """Compared with the newest accepted one."""
    old = dict.fromkeys(("tpkv", *"tpkvrs", "events"), "1")
    text = differences(old | {"v": "2", "tpkv": "3"}, [dict.fromkeys(old, "0"), old])
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines()}
    assert lines["v"][:4] == ["moved", "1", "->", "2"]
    assert lines["t"][:4] == ["same", "1", "->", "1"]
    assert differences(old, [dict.fromkeys(old, "0"), old]) == ""

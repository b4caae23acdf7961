"""Every seeded fault makes its named tests fail; a fault that cannot be planted is an error.

All of them are slow; `SAMPLE` is run with all other tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostsim.config.costs import CostModel
from hostsim.engine.random_stream import Streams
from tests.mutation.faults import FAULTS, Fault, cost_faults
from tests.mutation.planted_copy import ROOT, Outcome, PlantedCopy

CPU_S = 120
"""Seconds of CPU time for the tests of one fault, many times their normal time."""
SAMPLE = (
    "tie: an admitted world waits in the last of the shortest queues",
    "drop: a full ring drops one packet too few",
    "timer doubled: transmit coalescing in dense mode",
    "sign: after a loss, segments that the peer holds are taken off",
    "cost + 5 %: vmk_call",
)
_ASSERTION = re.compile(r"assert |AssertionError|Failed: DID NOT RAISE|(hostsim\.errors\.)?InvariantError")
ALL = (*FAULTS, *cost_faults())


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlantedCopy]:
    """A copy of the source tree without a fault."""
    made = PlantedCopy(tmp_path_factory.mktemp("planted"))
    yield made
    made.close()


def planted(fault: Fault) -> str:
    """Return the text of the fault's file with the fault."""
    text = (ROOT / fault.path).read_text(encoding="utf-8")
    found = text.count(fault.old)
    if found != 1:
        pytest.fail(f"{fault.name}: its old text occurs {found} times in {fault.path}, not once: bring it up to date")
    return text.replace(fault.old, fault.new)


def check(fault: Fault, copy: PlantedCopy) -> None:
    """Plant a fault and require that each of its tests fails in an assertion."""
    with copy.planted(fault.path, planted(fault)):
        outcome = copy.run(fault.tests, cpu_s=CPU_S, options=())
    assert not outcome.errors, f"{fault.name}: tests do not begin: {outcome.errors}"
    assert not outcome.is_timeout, f"{fault.name}: tests do not end"
    for test in fault.tests:
        messages = [message for name, message in outcome.failures.items() if name.startswith(test)]
        assert messages, f"{fault.name}: {test} passes"
        assert any(_ASSERTION.match(message) for message in messages), f"{fault.name}: {test} breaks: {messages}"


@pytest.mark.parametrize("fault", [fault for fault in ALL if fault.name in SAMPLE], ids=lambda fault: fault.name)
def test_a_sample_of_seeded_faults_is_detected(fault: Fault, copy: PlantedCopy) -> None:
    """A tie-break, a drop, a timer, a sign and a cost."""
    check(fault, copy)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in ALL if fault.name not in SAMPLE], ids=lambda fault: fault.name)
def test_every_seeded_fault_is_detected(fault: Fault, copy: PlantedCopy) -> None:
    """Each of its named tests fails."""
    check(fault, copy)


@pytest.mark.slow
def test_without_a_fault_all_these_tests_pass(copy: PlantedCopy) -> None:
    """A test that always fails would find every fault."""
    outcome = copy.run(sorted({test for fault in ALL for test in fault.tests}), cpu_s=10 * CPU_S)
    assert outcome.passed > len(FAULTS) // 2
    assert outcome == Outcome(outcome.passed, {}, {})


def test_there_are_forty_faults_and_one_for_each_cost() -> None:
    """Names are unique, every file has the old text once, and the planted source compiles."""
    assert len(FAULTS) >= 40
    assert len({fault.name for fault in ALL}) == len(ALL)
    costs = {fault.name.removeprefix("cost + 5 %: ") for fault in cost_faults()}
    generations = {"westmere-ex", "nehalem", "sandy-bridge"}
    assert costs == (set(CostModel.model_fields) - {"generations"}) | generations
    for fault in ALL:
        text = planted(fault)
        if fault.path.endswith(".py"):
            compile(text, fault.path, "exec")


def test_a_stale_fault_is_an_error(copy: PlantedCopy) -> None:
    """Its old text is in no file: it is an error instead of a pass."""
    stale = Fault("stale", "hostsim/units.py", "no such text", "", ())
    with pytest.raises(pytest.fail.Exception, match=r"its old text occurs 0 times in hostsim/units.py"):
        check(stale, copy)


def test_an_import_error_does_not_detect_a_fault(copy: PlantedCopy, tmp_path: Path) -> None:
    """Tests that cannot be collected, and tests that pass, detect nothing."""
    ring = "tests/engine/test_ring.py::test_a_full_ring_drops_the_last"
    broken = Fault("broken", "hostsim/engine/ring.py", "import mypyc_attr", "import mypyc_attrs", (ring,))
    with pytest.raises(AssertionError, match="tests do not begin"):
        check(broken, copy)
    harmless = Fault("harmless", "hostsim/engine/ring.py", "import mypyc_attr", "import  mypyc_attr", (ring,))
    with pytest.raises(AssertionError, match="test_a_full_ring_drops_the_last passes"):
        check(harmless, copy)


def test_replications_draw_different_numbers() -> None:
    """The same scope in another replication is another stream."""
    assert Streams(1, 0).stream("vm", 0).random() != Streams(1, 1).stream("vm", 0).random()

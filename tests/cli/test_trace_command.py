"""``hostsim trace`` writes a readable file of the requested point, and reports impossible requests."""

from __future__ import annotations

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace


def title(file) -> str:
    """The slice with the description of the run."""
    return next(p.track_event.name for p in Trace.FromString(file.read_bytes()).packet if p.track_event.name)


def test_a_trace_is_written_of_the_point_asked_for(cli, tiny, tmp_path):
    """Stdout has only the file's name, stderr the contents; a number in pps is the value as written in the scenario."""
    done = cli("trace", tiny, "--at", "receivers=2", "--at", "rate=5000", "--from", "5 ms", "--length", "4 ms")
    assert (done.exit_code, done.stdout) == (0, "tiny.pftrace\n")
    assert title(tmp_path / "tiny.pftrace") == "tiny: receivers=2, rate=5 kpps; seed 1, replication 0"
    assert "4 ms from 5 ms" in done.stderr
    assert "on 16 PCPUs" in done.stderr


def test_the_window_begins_half_way_and_the_first_point_is_taken(cli, tiny, tmp_path):
    """After most of the warm-up; for a quick run earlier."""
    for options, start in ((), "50 ms"), (("--quick",), "25 ms"):
        done = cli("trace", tiny, *options, "--length", "1 ms", "--replication", "1", "--seed", "3", "-o", "x.pftrace")
        assert f"1 ms from {start}" in done.stderr
        assert title(tmp_path / "x.pftrace") == "tiny: receivers=1, rate=2 kpps; seed 3, replication 1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--at", "receiver=2"),
            "--at: unknown axis; given 'receiver'; allowed: one of receivers, rate; did you mean 'receivers'?",
        ),
        (("--at", "receivers=1..3"), "--at: receivers: is several values; given '1..3'; allowed: one value"),
        (("--at", "receivers"), "is not name=value"),
        (("--at", "rate=5"), "--at: traffic.stream.rate: has no unit"),
        (("--length", "5"), "--length: has no unit; given '5'"),
        (("--length", "0 s"), "--length: is too short; given '0 s'; allowed: a time above 0"),
        (("--from", "-1 ms"), "--from: is negative; given '-1 ms'; allowed: a duration from 0"),
        (("--set", "vms.receiver.cont=2"), "did you mean 'count'"),
    ],
)
def test_what_cannot_be_traced_is_said(cli, tiny, tmp_path, options, message):
    """Exit status 2, and no file."""
    done = cli("trace", tiny, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "tiny.pftrace").exists()

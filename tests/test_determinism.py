"""The same point gives the same bytes, for any process, order and names."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from hostsim.campaign.simulate import simulate
from hostsim.campaign.store import Store
from hostsim.engine.random_stream import Streams
from hostsim.engine.record import RunRecord, Scalar
from hostsim.model.build import build_host
from hostsim.model.host import Host
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.scenario.load import load
from hostsim.scenario.plan import Fidelity, Plan, point_at
from hostsim.scenario.planner import make_plan
from hostsim.scenario.scenario import Scenario
from hostsim.scenario.shipped_data import data_root, shipped
from hostsim.units import MS
from tests.single_plan import run_all
from tests.writable_copy import copy_tree

TEXT = """
scenario: small
question: Does anything but the point matter?
platform: esxi-5.0
hardware: dell-r810
network:
  vSwitch0: {uplinks: [vmnic0]}
vms:
  receiver: {count: 3, guest: rhel6, networks: [vSwitch0], vmx: {ethernet0.emuRxMode: "0"}}
  worker: {count: 2, guest: rhel6, networks: [vSwitch0]}
traffic:
  stream: {kind: multicast, to: receiver, packet_size: 200 B, rate: 60 kpps, arrivals: {process: poisson}}
  load: {kind: work, to: worker, rate: 300 /s, arrivals: {process: poisson}, service: {mean: 1 ms}}
run: {length: 30 ms, replications: 2}
sweep:
  receivers: {set: vms.receiver.count, values: [1, 3]}
  split: {set: vms.receiver.vmx.ethernet0.emuRxMode, values: ["0", "1"]}
expect:
  - name: most receivers
    find: {largest: receivers, from: 1, to: 20, where: {metric: host_cpu, below: 9 %}}
    between: [1, 20]
"""


def digest(records: Iterable[RunRecord]) -> str:
    """Hash of everything in records except wall-clock times."""
    found = hashlib.sha256()
    for record in records:
        facts = {name: value for name, value in record.facts.items() if not name.startswith("wall_")}
        head = (record.point_id, record.replication, record.seed, dict(record.axes), record.cut, record.flags, facts)
        found.update(json.dumps([*head, record.error]).encode() + record.instants_ps.tobytes())
        for name, series in record.series.items():
            found.update(json.dumps([name, series.entities]).encode() + series.values.tobytes())
        for name, histogram in record.histograms.items():
            found.update(json.dumps([name, histogram.entities]).encode() + histogram.edges_ps.tobytes())
            found.update(histogram.counts.tobytes() + histogram.sums_ps.tobytes())
    return found.hexdigest()


def run_small(folder: Path, jobs: int) -> str:
    """Hash of a small sweep with a search, whose records are stored in a folder."""
    file = folder / "small.yaml"
    file.write_text(TEXT)
    outcome = run_all(make_plan(load(file), Fidelity()), Store(folder / "results"), jobs=jobs)
    assert not outcome.interrupted
    assert all(record.error is None for record in outcome.records.values())
    return digest(outcome.records.values()) + str(outcome.answers)


def test_processes_workers_and_hash_seeds_give_the_same_bytes(tmp_path: Path) -> None:
    """This process, and others with one worker or two under hash seeds 0, 1 and a random one."""
    here = tmp_path / "here"
    here.mkdir()
    expected = run_small(here, jobs=1)
    started = []
    for hash_seed, jobs in (("0", 1), ("1", 2), ("random", 1)):
        folder = tmp_path / hash_seed
        folder.mkdir()
        command = [sys.executable, "-m", "tests.test_determinism", str(folder), str(jobs)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        root = Path(__file__).parents[1]
        started.append(subprocess.Popen(command, env=environment, cwd=root, stdout=subprocess.PIPE, text=True))
    assert [process.communicate()[0].strip() for process in started] == [expected] * 3


def test_a_resumed_sweep_gives_the_bytes_of_an_uninterrupted_one(tmp_path: Path) -> None:
    """Half of the runs are removed and run again."""
    whole = run_small(tmp_path, jobs=1)
    runs = sorted((tmp_path / "results").rglob("*.parquet"))
    for run in runs[::2]:
        run.unlink()
    assert run_small(tmp_path, jobs=2) == whole
    assert sorted((tmp_path / "results").rglob("*.parquet")) == runs


def test_a_run_is_the_same_twice_in_one_process(tmp_path: Path) -> None:
    """A run has no effect on the next one."""
    (tmp_path / "small.yaml").write_text(TEXT)
    point = point_at(load(tmp_path / "small.yaml"), {"split": "1"})
    one, two = (simulate(point.spec, point_id=point.id, axes=point.axes, seed=1, replication=0) for _ in range(2))
    assert digest([one]) == digest([two])


def host_of(folder: Path, text: str) -> Host:
    file = folder / "changed.yaml"
    file.write_text(text)
    return build_host(point_at(load(file), {}).spec, Streams(1, 0))


def draws(host: Host, vcpus: int) -> list[object]:
    """Draws of a host's first stream and first vCPUs: phases of timers, arrivals of packets and work, lengths."""
    stream = host.nics["vmnic0"].wire._arrivals[0].collect(30 * MS, host.flows[0])
    found: list[object] = [train.arrival_times() for train in stream]
    for vcpu in host.vcpus[:vcpus]:
        found.append(vcpu._ticks._housekeeping_timer.due)
        if vcpu.work is not None:
            found += [train.arrival_times() for train in vcpu.work._arrivals.collect(30 * MS, host.flows[1])]
            found.append(vcpu.work._draw(100).tolist())
    return found


def test_a_device_more_shifts_no_stream_of_another(tmp_path: Path) -> None:
    """A group of VMs, a stream and work at the end of the scenario: everything before draws the same numbers."""
    groups = "  worker: {count: 2, guest: rhel6, networks: [vSwitch0]}\n"
    more = "  late: {count: 3, guest: rhel6, networks: [vSwitch0]}\n"
    work = "service: {mean: 1 ms}}\n"
    late = (
        "  second: {kind: multicast, to: late, packet_size: 100 B, rate: 9 kpps, arrivals: {process: poisson}}\n"
        "  more: {kind: work, to: late, rate: 90 /s, arrivals: {process: poisson}, service: {mean: 2 ms}}\n"
    )
    changed = TEXT.replace(groups, groups + more).replace(work, work + late)
    before, after = host_of(tmp_path, TEXT), host_of(tmp_path, changed)
    count = len(before.vcpus)
    assert (len(after.vcpus), len(after.flows)) == (count + 3, len(before.flows) + 2)
    drawn = draws(before, count)
    assert len(drawn) > count
    assert draws(after, count) == drawn


def test_a_vm_more_in_a_group_shifts_no_stream_of_another(tmp_path: Path) -> None:
    """The existing VMs of the group, and those of the next group, start at the same phases."""
    before, after = host_of(tmp_path, TEXT), host_of(tmp_path, TEXT.replace("worker: {count: 2", "worker: {count: 4"))
    both = [[vcpu._ticks._housekeeping_timer.due for vcpu in host.vcpus] for host in (before, after)]
    assert both[1][: len(both[0])] == both[0]
    assert None not in both[1]


# --- no result depends on a name


def renamed(text: str, chance: random.Random) -> tuple[str, dict[str, str]]:
    """A scenario with other names, without expectations and figures, and with its axes reversed; old axis names by new ones."""
    data: dict[str, Any] = yaml.safe_load(text)

    def other(names: Iterable[str]) -> dict[str, str]:
        return {name: f"n{chance.getrandbits(48):x}" for name in names}

    groups, flows, switches = other(data["vms"]), other(data["traffic"]), other(data["network"])
    axes = other(data.get("sweep", {}))

    def moved(path: str) -> str:
        parts = path.split(".")
        names = {"vms": groups, "traffic": flows, "network": switches}.get(parts[0], {})
        if len(parts) > 1:
            parts[1] = names.get(parts[1], parts[1])
        return ".".join(parts)

    def each(names: str | list[str], to: Mapping[str, str]) -> list[str]:
        return [to[name] for name in ([names] if isinstance(names, str) else names)]

    set_by = [axis["set"] for axis in data.get("sweep", {}).values()]
    swept = [path for paths in set_by for path in ([paths] if isinstance(paths, str) else paths)]
    if any(path.endswith((".network", ".networks")) for path in swept):
        switches = {name: name for name in switches}  # values of an axis name them
    for traffic in data["traffic"].values():
        if "to" in traffic:
            traffic["to"] = each(traffic["to"], groups)
        else:  # a VMkernel port
            (traffic["network"],) = each(traffic["network"], switches)
    for group in data["vms"].values():
        group["networks"] = each(group["networks"], switches)
    for axis in data.get("sweep", {}).values():
        axis["set"] = [moved(path) for path in ([axis["set"]] if isinstance(axis["set"], str) else axis["set"])]
    data["vms"] = {groups[name]: group for name, group in data["vms"].items()}
    data["traffic"] = {flows[name]: traffic for name, traffic in data["traffic"].items()}
    data["network"] = {switches[name]: switch for name, switch in data["network"].items()}
    data["sweep"] = {axes[name]: axis for name, axis in reversed(data.get("sweep", {}).items())}
    data["scenario"] = f"n{chance.getrandbits(48):x}"
    for part in ("expect", "figures"):
        data.pop(part, None)
    return yaml.safe_dump(data, sort_keys=False), {new: old for old, new in axes.items()}


def measures(scenario: Scenario, values: Mapping[str, Scalar]) -> dict[str, str]:
    """Every metric of a short run, exactly."""
    point = point_at(scenario, values)
    spec = point.spec.model_copy(update={"length": min(point.spec.length, 60 * MS)})
    record = simulate(spec, point_id=point.id, axes=point.axes, seed=1, replication=0)
    return {name: metric.evaluate(record).hex() for name, metric in CATALOGUE.items()}


def corners(plan: Plan) -> list[Mapping[str, Scalar]]:
    """The first, a middle and the last point of a sweep."""
    found = list({task.point.id: task.point.axes for task in plan.tasks}.values())
    return [found[0], found[len(found) // 2], found[-1]]


@pytest.mark.parametrize("name", shipped())
def test_no_result_depends_on_a_name(name: str, tmp_path: Path) -> None:
    """Every shipped scenario with random names, reversed axes, and without expectations and figures: the same bytes of every metric."""
    text = shipped()[name].read_text(encoding="utf-8")
    copy_tree(data_root() / "arrivals", tmp_path / "arrivals")
    file = tmp_path / f"x{random.Random(name).getrandbits(32):x}.yaml"
    changed, axes = renamed(text, random.Random(name + "names"))
    file.write_text(changed, encoding="utf-8")
    original, other = load(name), load(file)
    assert not set(other.axes) & set(original.axes)
    for values in corners(make_plan(original, Fidelity(), expectations=False)):
        assert measures(other, {new: values[old] for new, old in axes.items()}) == measures(original, values)


if __name__ == "__main__":
    sys.stdout.write(run_small(Path(sys.argv[1]), int(sys.argv[2])))

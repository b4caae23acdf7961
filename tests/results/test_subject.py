"""Measures of subjects: the same measure on a part of the host, in Python and from the records."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

import hostsim
from hostsim.cli.answer import answer
from hostsim.results.by_subject import esxtop
from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.functions import DROPS
from hostsim.results.metrics.subject import KINDS, SharedTrafficError, Subject, has, subjects
from hostsim.results.results import LazyRecords

mpl.use("agg")

MIXED = """
scenario: mixed
question: What does the interrupt rate of the NIC do to the feed beside a web server and other receivers?
platform: esxi-5.0
hardware: dell-r810
host: {advanced: {Net.MaxPortRxQueueLen: 20}}
network: {vSwitch0: {uplinks: [vmnic0]}}
vms:
  web: {count: 1, guest: rhel6, networks: [vSwitch0]}
  feed: {count: 1, vcpus: 2, guest: rhel6, networks: [vSwitch0]}
  split: {count: 2, guest: rhel6, networks: [vSwitch0], vmx: {ethernet0.emuRxMode: 1}}
  web2: {count: 1, guest: rhel6, networks: [vSwitch0]}
traffic:
  pages: {kind: http, method: get, to: web, size: 16 kB, window: 64 KiB, connections: 2, think_time: 2 ms}
  ticks: {kind: multicast, to: feed, packet_size: 200 B, rate: 20 kpps, arrivals: {process: poisson}}
  copies: {kind: multicast, to: split, packet_size: 200 B, rate: 150 kpps, arrivals: {process: poisson}}
  jobs: {kind: work, to: web2, rate: 200 /s, service: {distribution: constant, mean: 1 ms}}
run: {length: 60 ms, replications: 2, quick: {length: 60 ms, replications: 2}}
sweep:
  interval: {set: host.nics.vmnic0.interrupt_interval, values: [0 us, 100 us]}
figures:
  own: {x: interval, y: latency_p95, of: feed}
  all: {x: interval, y: latency_p95}
expect:
  - {name: feed, metric: latency_p95, of: feed, at: {interval: 100 us}, between: [0, 1000 us]}
  - name: feed against copies
    always: {metric: loss of ticks, below: 0.1 %, at: {interval: 0 us}}
    between: [1, 1]
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    path = tmp_path_factory.mktemp("mixed") / "mixed.yaml"
    path.write_text(MIXED)
    small = {"vms.split.guest.socket_buffer": "4 kB"}
    return hostsim.run(path, overrides=small, jobs=1, results=path.parent / "results", expectations=True)


@pytest.fixture(scope="module")
def record(mixed):
    return mixed.record()


def test_one_line_asks_for_a_subject(mixed):
    """Its values differ from those of the host, which combine all traffic; figures of the scenario have them in the table."""
    own = mixed["latency_p95 of feed"]
    assert own.attrs == {"unit": "us", "of": "feed"}
    assert len(own) == len(mixed) == 4
    assert list(own) == list(mixed.table["latency_p95 of feed"]) == list(mixed["latency_p95 of ticks"])
    assert (own != mixed["latency_p95"]).all()
    frame = mixed.curve(x="interval", y="latency_p95", of="feed")
    assert frame.attrs["of"] == "feed"
    assert list(frame["mean"]) == pytest.approx(list(own.groupby("interval").mean()))
    assert list(frame["mean"]) == list(mixed.curve(x="interval", y="latency_p95", of="group feed")["mean"])


@pytest.mark.parametrize(
    ("call", "runs"),
    [
        (lambda results: results.with_measures("loss of feed", "latency_p99 of ticks", "guest_ready of web"), 4),
        (lambda results: results["loss of feed in part 2/3"], 4),
        (lambda results: results.by("group"), 4),
        (lambda results: results.distribution("latency of ticks", by="interval"), 4),
        (lambda results: results.distribution("latency", by="group", at={"interval": "0 us"}), 2),
    ],
    ids=["measures", "parts", "by", "distribution", "distributions"],
)
def test_a_call_reads_each_record_once(mixed, call, runs):
    """Several measures of a call share the read, also with the check of their subjects."""
    reads = []

    class Counted(LazyRecords):
        def of(self, point, replication):
            reads.append((point, replication))
            return mixed.records.of(point, replication)

    call(replace(mixed, records=Counted({})))
    assert len(reads) == len(set(reads)) == runs


def test_a_percentile_of_a_subject_is_that_of_its_times_alone(record):
    """By hand from the histogram: the share of packets in buckets below the 95th percentile."""
    histogram = record.histograms["flow.latency"]
    counts = (histogram.counts[-1] - histogram.counts[record.cut])[histogram.entities.index("ticks")]
    value = CATALOGUE["latency_p95 of ticks"].evaluate(record) * 1e6
    bucket = int(np.searchsorted(histogram.edges_ps, value, side="right")) - 1
    assert counts[:bucket].sum() <= 0.95 * counts.sum() <= counts[: bucket + 1].sum()


@pytest.mark.parametrize("kind", ["traffic", "group"])
def test_traffic_and_groups_add_up_to_the_host(mixed, kind):
    """Counts and rates: nothing is lost between subjects, and nothing counted twice."""
    for record in mixed.records:
        parts = [Subject(kind, name).of(record) for name in subjects(record, kind)]
        own = ("vcpu.used_ps", "guest.interrupts") if kind == "group" else ()
        for counter in (*DROPS.values(), "guest.read", "flow.octets", *own):
            assert sum(part.total(counter) for part in parts) == record.total(counter), counter
        for name in ("throughput", "delivered", "transactions"):
            found = sum(CATALOGUE[name].evaluate(part) for part in parts)
            assert found == pytest.approx(CATALOGUE[name].evaluate(record)), name
        dropped = [part.total("guest.socket_dropped") for part in parts]
        assert sum(dropped) == max(dropped) > 0


def test_worlds_add_up_to_their_groups(record):
    """CPU time of worlds by VM; of PCPUs by node."""
    for name in ("networld_cpu", "splitrx_cpu", "netpoll_cpu"):
        worlds = [w for w in subjects(record, "world") if has(CATALOGUE[name], "world", w)]
        owners = {w: Subject("world", w).of(record) for w in dict.fromkeys(worlds)}
        found = sum(CATALOGUE[name].evaluate(own) for own in owners.values())
        assert found == pytest.approx(CATALOGUE[name].evaluate(record))
    nodes = [Subject("node", name).of(record) for name in subjects(record, "node")]
    assert len(nodes) > 1
    assert np.mean([CATALOGUE["host_cpu"].evaluate(n) for n in nodes]) == pytest.approx(
        CATALOGUE["host_cpu"].evaluate(record)
    )


def test_subjects_of_every_kind_have_frames(mixed):
    """The frames have units, the kind, and a short id in the last column; measures that a kind lacks are not columns."""
    sizes = {"traffic": 4, "group": 4, "vm": 5, "vnic": 5, "port": 1, "node": 2}
    for kind in KINDS:
        frame = mixed.by(kind, at={"interval": "0 us"})
        assert frame.attrs["of"] == kind
        assert list(frame.columns[:3]) == ["interval", "replication", "subject"]
        assert frame.columns[-1] == "point"
        assert len(frame["point"].iloc[0]) == 6
        assert len(frame) == 2 * sizes.get(kind, frame["subject"].nunique())
        assert "numa_io" not in frame
        assert all(name in frame.attrs["units"] for name in frame.columns[3:-1])
    assert not {"guest_cpu", "guest_limited"} & set(mixed.by("world"))  # these are %RUN and %MLMTD
    assert mixed.by("traffic").attrs["units"]["response_time_mean"] == "us"
    vms = mixed.by("vm").set_index("subject")
    assert vms.loc["split[0]", "latency_mean"].isna().all()
    assert vms.loc["split[0]", "guest_cpu"].notna().all()
    assert any("not counted separately" in note for note in mixed.by("vm").attrs["notes"])


def test_a_summary_has_the_means_of_the_replications(mixed):
    """Of the host and of subjects, without measures that are 0 everywhere."""
    whole = mixed.summary(at={"interval": "0 us"}).set_index("measure")
    assert whole.loc["guest_cpu", "mean"] == pytest.approx(mixed["guest_cpu"][0.0].mean())
    assert whole.loc["guest_cpu", "unit"] == "% of a vCPU"
    assert "numa_io" not in whole.index
    assert whole.loc["response_time_mean", "unit"] == "us"
    assert whole.loc["response_time_mean", "mean"] == pytest.approx(1e3 * mixed["response_time_mean"][0.0].mean())
    own = mixed.summary("traffic", at={"interval": "0 us"}).set_index(["subject", "measure"])
    assert own.loc[("ticks", "latency_mean"), "mean"] == pytest.approx(mixed["latency_mean of ticks"][0.0].mean())
    assert own.loc[("ticks", "latency_mean"), "runs"] == 2
    assert ("ticks", "transactions") in own.index


def test_a_report_and_an_answer_show_measures_by_group(mixed, tmp_path):
    """They also do from the folder, which stores them in a file; without it the results are unchanged."""
    assert list(mixed.subjects["subject"].unique()) == ["web", "feed", "split", "web2"]
    found = mixed.subjects.set_index(["point", "subject"])
    mean = mixed.by("group", at={"interval": "0 us"}).groupby("subject")["latency_mean"].mean()["feed"]
    point = mixed.record(at={"interval": "0 us"}).point_id
    assert found.loc[(point, "feed"), "latency_mean"] == pytest.approx(mean)
    lines = answer(mixed).partition("by VM group at interval=100 us\n")[2].partition("\n\n")[0].splitlines()
    assert lines[0].split() == ["web", "feed", "split", "web2"]
    assert all(len(line) < 80 for line in lines[:-1])
    assert lines[-1].startswith("  bottleneck of web: ")
    mixed.save(tmp_path)
    read = hostsim.open_results(tmp_path)
    assert read.subjects.equals(mixed.subjects)
    assert "Measures by VM group" in read.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Measures by VM group" in read._repr_html_()
    replace(mixed, subjects=mixed.subjects.iloc[:0]).save(tmp_path)
    assert not (tmp_path / "subjects.parquet").exists()
    assert hostsim.open_results(tmp_path).subjects.empty


def test_what_esxtop_shows_adds_up(record):
    """Each world runs, waits, is ready or co-stopped; drops are those of the counters."""
    for name in subjects(record, "vm"):
        found = esxtop(record, Subject("vm", name))
        vcpus = 2 if name == "feed[0]" else 1
        assert found["%RUN"] + found["%RDY"] + found["%CSTP"] + found["%WAIT"] == pytest.approx(100 * vcpus)
        assert found["%USED"] == pytest.approx(found["%RUN"] + found["%SYS"])
    split = esxtop(record, Subject("vnic", "split[0].eth0"))
    assert split["PKTRX/s"] == pytest.approx(record.window("port.received")[3] * 1e12 / record.window_ps)
    assert esxtop(record, Subject("port", "vmnic0"))["PKTRX/s"] == pytest.approx(
        1e3 * CATALOGUE["rx_rate"].evaluate(record)
    )


def test_a_queue_of_a_vnic_has_its_own_packets(mixed, record):
    """The packets are those of its port, and not 0 because a NIC lacks queues; a transmit queue receives none."""
    queues = mixed.by("queue", at={"interval": "0 us"}).query("replication == 0").set_index("subject")
    came = queues.loc[queues.index.str.contains("]") & ~queues.index.str.contains("-tx"), "rx_rate"]
    port = record.series["port.received"]
    assert list(came) == pytest.approx(list(record.window("port.received") * 1e9 / record.window_ps))
    assert tuple(came.index) == port.entities
    assert came["web[0].eth0"] > 0
    assert queues.loc[queues.index.str.contains("-tx"), "rx_rate"].isna().all()
    with pytest.raises(hostsim.InputError, match="rx_rate is not a measure of queues"):
        mixed["rx_rate of feed[0].eth0-tx0"]


@pytest.mark.parametrize("name", [3, "interval", "replication", ["latency_p95", "loss"]])
def test_what_is_not_a_measure_is_refused(mixed, name):
    """By the error of a misspelt measure."""
    with pytest.raises(hostsim.InputError):
        mixed[name]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("latency_p95 of fed", ["unknown subject", "traffic entries (pages, ticks", "did you mean 'feed'"]),
        ("netpoll_cpu of feed", ["not a measure of VM groups", "ports of physical NICs"]),
        ("latency_p95 of split[1]", ["all VMs of split", "traffic copies"]),
        ("latency_p of feed", ["unknown metric"]),
        ("numa_io of feed", ["of the host only"]),
    ],
)
def test_an_error_names_what_there_is(mixed, name, words):
    """The subjects that have a measure, or the traffic to name."""
    with pytest.raises(hostsim.InputError) as error:
        mixed[name]
    assert all(word in str(error.value) for word in words), error.value


def test_traffic_of_several_groups_belongs_to_none_of_them(record):
    """Its packets are not counted by group: no number, and a fault that names the traffic."""
    groups = record.series["flow.groups"]
    values = groups.values.copy()
    values[:, groups.entities.index("ticks")] |= values[:, groups.entities.index("copies")]
    shared = replace(record, series={**record.series, "flow.groups": replace(groups, values=values)})
    assert np.isnan(CATALOGUE["latency_p95 of feed"].evaluate(shared))
    with pytest.raises(SharedTrafficError, match="traffic ticks"):
        Subject("group", "feed").traffic(shared)
    assert CATALOGUE["latency_p95 of ticks"].evaluate(shared) == CATALOGUE["latency_p95 of feed"].evaluate(record)


def test_a_record_without_the_counters_says_so(record):
    """A record of an earlier version has times by traffic, but neither drops by traffic nor groups."""
    series = {
        name: counter
        for name, counter in record.series.items()
        if not name.startswith("flow.dropped_") or name in ("flow.dropped_nic", "flow.dropped_out")
    }
    del series["flow.groups"]
    old = replace(record, series=series)
    assert CATALOGUE["latency_p95 of ticks"].evaluate(old) == CATALOGUE["latency_p95 of ticks"].evaluate(record)
    for name, lacking in (("loss of ticks", "flow.dropped_"), ("latency_p95 of feed", "groups of its traffic")):
        with pytest.raises(hostsim.InputError, match="earlier version") as error:
            CATALOGUE[name].evaluate(old)
        assert lacking in str(error.value)


def test_a_distribution_has_a_line_for_each_traffic_entry(mixed):
    """Counts of all subjects together equal the host's; a single subject has its own."""
    whole = mixed.distribution("latency", at={"interval": "0 us"})
    apart = mixed.distribution("latency", by="traffic", at={"interval": "0 us"})
    assert set(apart["traffic"]) == {"pages", "ticks", "copies"}
    assert apart["count"].sum() == whole["count"].sum()
    own = mixed.distribution("latency of feed", at={"interval": "0 us"})
    assert own["count"].sum() == apart[apart["traffic"] == "ticks"]["count"].sum()
    labels = [line.get_label() for line in mixed.plot_cdf("latency", by="traffic").lines]
    assert labels == ["pages", "ticks", "copies"]
    axes = mixed.plot(x="interval", y="latency_p95", of="feed")
    assert axes.get_ylabel().replace("\n", " ").startswith("95th percentile of one-way latency of feed")


def test_expectations_and_figures_are_asked_of_a_subject(mixed):
    """The verdict's value is the subject's; without a subject nothing changes."""
    verdicts = {verdict.expectation.name: verdict for verdict in mixed.verdicts}
    own = mixed["latency_p95 of feed"][0.0001]
    assert verdicts["feed"].value == pytest.approx(own.mean())
    assert verdicts["feed against copies"].value == 1
    assert [figure.y for figure in mixed.figures] == ["latency_p95 of feed", "latency_p95"]

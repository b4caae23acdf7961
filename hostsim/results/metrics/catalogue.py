"""The catalogue of metrics: name, unit, meaning, function and label; reserved names of columns."""

from __future__ import annotations

from collections.abc import Iterable

from hostsim.errors import Fault, nearest_name, raise_faults
from hostsim.results.metrics.functions import (
    DROPS,
    Metric,
    busiest,
    cpu_per_gbit,
    delivered,
    drop_share,
    gbits,
    histogram_mean,
    limited_share,
    loss,
    mean_share,
    over,
    per_10kpps,
    per_nic,
    percentile,
    queues_used,
    rate,
    scaled,
    settled_response,
    sum_share,
    tso_size,
    users_per_cpu,
    wire_gbits,
    work_loss,
)
from hostsim.results.metrics.subject import of_subject, of_subject_name, parsed

__all__ = [
    "CATALOGUE",
    "FACTS",
    "FORMER_NAMES",
    "MEMBER",
    "NO_BOUND",
    "RESERVED",
    "SIDE",
    "WINDOW",
    "in_sentence",
    "label_of",
    "nearest_metric",
    "require_metrics",
    "spelt",
    "unit_of",
]

NO_BOUND = "no bound"
"""Text for an infinite response time."""


_LATENCY = "the time of a packet from the end of its frame on the wire, or from its write in another VM, to the application's read"
_WORK_TIME = "the time of a burst of CPU work (kind: work) from its arrival in the guest to its end"
_SHARES = (("p50", 0.50), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999))
"""Percentiles of each time, by name."""
_ENTRIES = (
    Metric(
        "host_cpu",
        "%",
        "Mean %UTIL of all PCPUs: share of time that is not idle.",
        "instant",
        mean_share("pcpu.busy_ps"),
        is_smooth=True,
    ),
    Metric(
        "host_used",
        "%",
        "Mean %USED of all PCPUs: as host_cpu, but a PCPU with a busy sibling hyperthread is charged half of the time.",
        "instant",
        mean_share("pcpu.used_ps"),
    ),
    Metric(
        "cpu_total",
        "% of a PCPU",
        "Time that all PCPUs together were not idle: 200 means two PCPUs busy all the time.",
        "instant",
        sum_share("pcpu.busy_ps"),
    ),
    Metric(
        "guest_cpu",
        "% of a vCPU",
        "Mean time charged to a vCPU: guest code, exits, interrupts, and the context switches and cache refills at its start.",
        "instant",
        mean_share("vcpu.used_ps"),
    ),
    Metric(
        "guest_cpu_per_10kpps",
        "% of a vCPU",
        "Time charged to all vCPUs for each 10,000 packets/s that guests take from their rings; includes idle vCPUs and CPU work.",
        "instant",
        per_10kpps,
    ),
    Metric(
        "throughput",
        "Gbit/s",
        "Data that receiving applications got, all traffic together: includes traffic between VMs, and counts multicast at each receiver.",
        "rate",
        gbits,
    ),
    Metric(
        "throughput_per_nic",
        "Gbit/s",
        "Data that receiving applications got over a wire, divided by the number of NIC ports with packets: without traffic between VMs; a multicast frame counts once.",
        "rate",
        per_nic(wire_gbits),
    ),
    Metric(
        "cpu_per_gbit",
        "% of a PCPU per Gbit/s",
        "Busy time of all PCPUs, in percent of one PCPU, over throughput.",
        "instant",
        cpu_per_gbit,
    ),
    Metric(
        "guest_ready",
        "% of a vCPU",
        "Mean %RDY of the vCPUs: time runnable without a PCPU.",
        "instant",
        mean_share("vcpu.ready_ps"),
    ),
    Metric(
        "guest_limited",
        "% of a vCPU",
        "Mean %MLMTD of the vCPUs: part of %RDY caused by a CPU limit of the VM or of its resource pool.",
        "instant",
        limited_share,
    ),
    Metric(
        "guest_costop",
        "% of a vCPU",
        "Mean %CSTP of the vCPUs: time co-stopped until their siblings catch up.",
        "instant",
        mean_share("vcpu.costop_ps"),
    ),
    Metric(
        "numa_io",
        "% of the window",
        "Share of the time for which NUMA-aware I/O placement was active.",
        "instant",
        mean_share("numa_io.in_force_ps"),
    ),
    Metric(
        "dense_mode",
        "% of the window",
        "Share of the time for which dense mode (dynamic tuning of the host) was active.",
        "instant",
        mean_share("tuning.dense_ps"),
    ),
    Metric(
        "busiest_memory",
        "% of the bandwidth",
        "Memory traffic of packets on the busiest NUMA node, relative to the bandwidth of its channels: near 100, copies wait for memory.",
        "instant",
        busiest("node.memory_ps"),
    ),
    Metric(
        "netpoll_cpu",
        "% of a PCPU",
        "Charged time of all NetPoll worlds.",
        "instant",
        sum_share("netpoll.used_ps"),
    ),
    Metric(
        "busiest_netpoll",
        "% of a PCPU",
        "Charged time of the busiest NetPoll world: near 100, its queue is the bottleneck.",
        "instant",
        busiest("netpoll.used_ps"),
    ),
    Metric(
        "networld_cpu",
        "% of a PCPU",
        "Charged time of all NetWorlds (transmit contexts).",
        "instant",
        sum_share("networld.used_ps"),
    ),
    Metric(
        "network_threads_cpu",
        "% of a PCPU",
        "Charged time of all networking contexts: NetPolls, split-receive contexts, NetWorlds.",
        "instant",
        lambda record: sum(sum_share(f"{kind}.used_ps")(record) for kind in ("netpoll", "splitrx", "networld")),
    ),
    Metric(
        "splitrx_cpu",
        "% of a PCPU",
        "Charged time of all split-receive worlds.",
        "instant",
        sum_share("splitrx.used_ps"),
    ),
    Metric(
        "loss",
        "%",
        "Packets dropped anywhere on the host, relative to all that were dropped or reached their end in the window: an application, a kernel, or the wire. Each frame of a packet counts, and a multicast frame counts once for each receiver.",
        "instant",
        loss,
    ),
    *(
        Metric(f"loss_{place}", "%", f"The part of loss dropped {where}.", "instant", drop_share(DROPS[place]))
        for place, where in (
            ("nic", "at the physical NIC's receive ring"),
            ("split", "at the queue of a split-receive context"),
            ("ring", "at a vNIC's receive ring"),
            ("list", "at a full receive list, between VMs of the host"),
            ("socket", "at a full socket buffer"),
            ("out", "on transmit: by the guest, at its transmit queue, or at the physical NIC's"),
        )
    ),
    Metric(
        "local_rate",
        "pps",
        "Packets that transmit contexts forwarded to other VMs of the host; a TSO packet counts once.",
        "rate",
        rate("switched.packets"),
    ),
    Metric(
        "delivered",
        "pps",
        "Packets that applications or guest kernels (acknowledgements) took, or that guests forwarded, all VMs together.",
        "rate",
        delivered,
    ),
    Metric(
        "latency_mean",
        "us",
        f"Mean of {_LATENCY}.",
        "instant",
        histogram_mean("flow.latency"),
    ),
    *(
        percentile(
            "latency",
            name,
            share,
            "flow.latency",
            _LATENCY,
        )
        for name, share in _SHARES
    ),
    Metric(
        "response_time_mean",
        "ms",
        "Mean time from a client's request to the end of its answer at the client.",
        "instant",
        scaled(histogram_mean("flow.response"), 1e-3),
    ),
    Metric(
        "round_trip_mean",
        "us",
        "response_time_mean in microseconds, for all requests: the mean round-trip time if all messages are small.",
        "instant",
        histogram_mean("flow.response"),
    ),
    *(
        percentile(
            "response_time",
            name,
            share,
            "flow.response",
            "the time from a client's request to the end of its answer at the client",
        )
        for name, share in _SHARES
    ),
    settled_response("mean", None),
    *(settled_response(name.replace(".", ""), share) for name, share in _SHARES),
    *(
        Metric(
            f"stage_{stage}",
            "us",
            f"Mean time of a round trip {what}; only for request_response, whose round trip is the sum of the stages.",
            "instant",
            scaled(over(f"trip.{stage}_ps", "trip.count"), 1e-6),
        )
        for stage, what in (
            ("wire", "on the wire in both directions, including waits for it, and at the client"),
            ("moderation", "from the end of the request on the wire to the interrupt of the physical NIC"),
            ("netpoll_wait", "from there until its NetPoll, after wake-up and entry, begins to work"),
            ("vswitch", "in the NetPoll (driver, virtual switch, copy) until it is on the guest's ring"),
            ("coalescing", "from there to the virtual interrupt"),
            ("wake", "from there until the guest, after wake-up, polls its ring"),
            ("guest", "in the guest, until the reply is written"),
            ("transmit", "from there until the transmit context has passed it to the physical NIC"),
        )
    ),
    Metric("work_time_mean", "ms", f"Mean of {_WORK_TIME}.", "instant", scaled(histogram_mean("work.time"), 1e-3)),
    *(percentile("work_time", name, share, "work.time", _WORK_TIME) for name, share in _SHARES),
    Metric(
        "work_loss",
        "%",
        "Bursts of CPU work dropped as too many waited, relative to dropped and started bursts.",
        "instant",
        work_loss,
    ),
    Metric(
        "rx_rate",
        "kpps",
        "Packets taken from the queues of physical NICs, as the host sees them, all NICs together, without dropped ones.",
        "rate",
        scaled(rate("nic.rx_frames"), 1e-3),
    ),
    Metric(
        "rx_dropped",
        "kpps",
        "Packets dropped as no receive descriptor of a physical NIC was free, all NICs together.",
        "rate",
        scaled(rate("nic.rx_dropped"), 1e-3),
    ),
    Metric(
        "tx_rate",
        "kpps",
        "Packets passed to physical NICs, all NICs together, without dropped ones; a TSO packet counts once.",
        "rate",
        scaled(rate("nic.tx_packets"), 1e-3),
    ),
    Metric(
        "tx_dropped",
        "kpps",
        "Packets dropped as the transmit queue of a physical NIC was full, all NICs together; a TSO packet counts once.",
        "rate",
        scaled(rate("nic.tx_dropped"), 1e-3),
    ),
    Metric(
        "rx_per_nic",
        "kpps",
        "Packets received, as the host sees them, divided by the number of NIC ports with packets.",
        "rate",
        per_nic(scaled(rate("nic.rx_frames"), 1e-3)),
    ),
    Metric(
        "tx_per_nic",
        "kpps",
        "Packets passed to physical NICs, divided by the number of NIC ports with packets; a TSO packet counts once.",
        "rate",
        per_nic(scaled(rate("nic.tx_packets"), 1e-3)),
    ),
    Metric(
        "packets_per_nic",
        "kpps",
        "Packets received and sent, divided by the number of NIC ports with packets; a TSO packet counts once.",
        "rate",
        per_nic(scaled(rate("nic.rx_frames", "nic.tx_packets"), 1e-3)),
    ),
    Metric(
        "rx_tx_ratio",
        "ratio",
        "Packets received through physical NICs, as the host sees them, over packets passed to them; a TSO packet counts once.",
        "instant",
        over("nic.rx_frames", "nic.tx_packets"),
    ),
    Metric(
        "rx_size",
        "B",
        "Mean size of received packets, as the host sees them: Ethernet frames without check sequence.",
        "instant",
        over("nic.rx_octets", "nic.rx_frames"),
    ),
    Metric(
        "transactions",
        "/s",
        "Requests whose complete answer has left the wire.",
        "rate",
        rate("flow.answered"),
    ),
    Metric(
        "users_per_cpu",
        "users per % of a PCPU",
        "Users with one request at a time, over the busy time of all PCPUs.",
        "instant",
        users_per_cpu,
    ),
    Metric(
        "tso_size", "kB", "Mean data of the packets with data that were passed to physical NICs.", "instant", tso_size
    ),
    Metric(
        "guest_rx_per_nic",
        "kpps",
        "Packets that guests take from their rings, including packets of other VMs, divided by the number of NIC ports with packets.",
        "rate",
        per_nic(scaled(rate("port.received"), 1e-3)),
    ),
    Metric(
        "host_packets",
        "Mpps",
        "Packets received and sent through physical NICs, all NICs together.",
        "rate",
        scaled(rate("nic.rx_frames", "nic.tx_packets"), 1e-6),
    ),
    Metric(
        "rx_queues_used",
        "queues",
        "Number of receive queues of physical NICs with at least 1 % of the frames.",
        "instant",
        queues_used,
    ),
    Metric(
        "tx_calls",
        "/s",
        "Calls of guests into the VMkernel that woke a transmit context.",
        "rate",
        rate("tx.forced"),
    ),
    Metric(
        "vmotion_rounds",
        "rounds",
        "Rounds of memory copies of a complete vMotion, including the last one, in which the VM is stopped.",
        "instant",
        over("migration.rounds", "migration.done"),
    ),
    Metric(
        "vmotion_time",
        "ms",
        "Time of a complete vMotion, from its beginning to the acknowledgement of its last data.",
        "instant",
        scaled(over("migration.took_ps", "migration.done"), 1e-9),
    ),
    Metric(
        "vmotion_stop",
        "ms",
        "Time for which the VM of a complete vMotion is stopped while the rest of its memory is sent.",
        "instant",
        scaled(over("migration.stopped_ps", "migration.done"), 1e-9),
    ),
    Metric("nic_interrupts", "/s", "Interrupts of the physical NICs.", "rate", rate("queue.interrupts")),
    Metric("guest_interrupts", "/s", "Virtual interrupts taken, all VMs together.", "rate", rate("guest.interrupts")),
    Metric("dispatches", "/s", "Dispatches of worlds, all PCPUs together.", "rate", rate("pcpu.dispatches")),
    Metric("preemptions", "/s", "Preemptions of running worlds, all PCPUs together.", "rate", rate("pcpu.preemptions")),
)


class _Catalogue(dict[str, Metric]):
    """Measures of the host by name; with ``of``, those of a subject: ``latency_p99 of feed``."""

    def __missing__(self, name: str) -> Metric:
        measure, subject = parsed(name)
        if not subject or measure not in self:
            raise KeyError(name)
        return of_subject(self[measure], subject)

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        measure, subject = parsed(name) if isinstance(name, str) else ("", "")
        return bool(subject.strip()) and super().__contains__(measure)


CATALOGUE: dict[str, Metric] = _Catalogue({metric.name: metric for metric in _ENTRIES})
"""Measures by name, in the order of tables. ``CATALOGUE["latency_p99 of feed"]`` is a measure of a subject."""

FORMER_NAMES = {f"response_{name}": f"settled_response_{name}" for name in ("mean", "p50", "p95", "p99")}
"""Names of measures in earlier versions, with current names."""


def nearest_metric(name: str) -> str:
    """The probable metric for an unknown name: the current name, or the most similar one; may be empty."""
    return FORMER_NAMES.get(name) or nearest_name(name, CATALOGUE)


def require_metrics(names: Iterable[str], place: str = "") -> None:
    """Check that the catalogue has these metrics.

    Args:
        names: of the metrics.
        place: argument that has the names.

    Raises:
        InputError: with all unknown ones.
    """
    raise_faults(
        Fault("unknown metric", place, repr(name), "a name that `hostsim metrics` lists", nearest_metric(name))
        for name in names
        if name not in CATALOGUE
    )


WINDOW = {"cut_s": "s", "length_s": "s"}
"""Start and end of the measured window, with their units."""
FACTS = {"events": "", "run_dispatches": "", "wall_s": "s"}
"""Columns of the whole run, with their units."""
MEMBER = "member"
"""Column of an ensemble: the host of a replication."""
SIDE = "what_if"
"""Column of a what-if: ``before`` or ``after``."""
_TABLE = ("point", "replication", "seed", *CATALOGUE, *WINDOW, *FACTS, "bottleneck", "flags", "error")
_CURVE = ("measure", "unit", "mean", "low", "high", "prediction_low", "prediction_high", "runs")
_DIFFERENCES = ("metric", "before", "after", "difference", "change", "pairing")
_DISTRIBUTION = ("count", "share", "cumulative")
_JUDGED = ("value", "raw")
"""Columns of a verdict's points, beside their axes."""
RESERVED = frozenset((*_TABLE, MEMBER, SIDE, "subject", *_CURVE, *_DIFFERENCES, *_DISTRIBUTION, *_JUDGED))
"""Names of the columns of every table and frame of a sweep, and of the points of its verdicts."""


_LABELS = {
    "host_cpu": "Host CPU utilisation",
    "host_used": "Host CPU used",
    "cpu_total": "CPU time of the host",
    "guest_cpu": "Guest CPU",
    "guest_cpu_per_10kpps": "Guest CPU for each 10,000 packets/s",
    "throughput": "Throughput",
    "throughput_per_nic": "Throughput of each NIC",
    "cpu_per_gbit": "CPU cost of throughput",
    "guest_ready": "Ready time of vCPUs",
    "guest_limited": "Limited time of vCPUs",
    "guest_costop": "Co-stop time of vCPUs",
    "numa_io": "NUMA I/O in effect",
    "dense_mode": "Dense mode in effect",
    "netpoll_cpu": "CPU time of NetPoll worlds",
    "busiest_netpoll": "CPU time of the busiest NetPoll world",
    "networld_cpu": "CPU time of NetWorlds",
    "network_threads_cpu": "CPU time of networking threads",
    "splitrx_cpu": "CPU time of split-receive worlds",
    "loss": "Packet loss",
    "loss_nic": "Packet loss at the physical NIC",
    "loss_split": "Packet loss at split-receive queues",
    "loss_ring": "Packet loss at vNIC rings",
    "loss_socket": "Packet loss at socket buffers",
    "loss_out": "Packet loss on transmit",
    "loss_list": "Packet loss at receive lists between VMs",
    "rx_dropped": "Packets dropped on receive",
    "tx_dropped": "Packets dropped on transmit",
    "local_rate": "Packets between VMs of the host",
    "busiest_memory": "Bandwidth of the busiest memory node",
    "delivered": "Packets delivered to applications",
    "latency_mean": "Mean one-way latency",
    "work_time_mean": "Mean time of a burst of CPU work",
    "work_loss": "Bursts of CPU work dropped",
    "round_trip_mean": "Mean round-trip time",
    "response_time_mean": "Mean response time (raw)",
    "settled_response_mean": "Mean response time",
    "stage_wire": "On the wire",
    "stage_moderation": "NIC interrupt moderation",
    "stage_netpoll_wait": "Wait for NetPoll",
    "stage_vswitch": "NetPoll and virtual switch",
    "stage_coalescing": "vNIC interrupt coalescing",
    "stage_wake": "Guest wake-up",
    "stage_guest": "In the guest",
    "stage_transmit": "Transmit context",
    "rx_rate": "Packets received by the host",
    "tx_rate": "Packets sent by the host",
    "rx_per_nic": "Packets received by each NIC",
    "tx_per_nic": "Packets sent by each NIC",
    "packets_per_nic": "Packets received and sent by each NIC",
    "rx_tx_ratio": "Packets received over packets sent",
    "rx_size": "Mean size of received packets",
    "transactions": "Transactions",
    "users_per_cpu": "Users per CPU time",
    "tso_size": "Mean size of TSO packets",
    "guest_rx_per_nic": "Packets received by guests per NIC",
    "host_packets": "Packets received and sent by the host",
    "rx_queues_used": "Receive queues in use",
    "tx_calls": "Calls into the VMkernel to transmit",
    "vmotion_rounds": "Rounds of a vMotion",
    "vmotion_time": "Time of a vMotion",
    "vmotion_stop": "Stop time of a vMotion",
    "nic_interrupts": "Interrupts of physical NICs",
    "guest_interrupts": "Virtual interrupts",
    "dispatches": "Dispatches",
    "preemptions": "Preemptions",
}
"""Labels by metric; those of percentiles are derived from their statistic."""

_PERCENTILES = {
    "latency": ("one-way latency", ""),
    "response_time": ("response time", " (raw)"),
    "settled_response": ("response time", ""),
    "work_time": ("time of a burst of CPU work", ""),
}
_RANKS = {
    "p50": "Median",
    "p95": "95th percentile of",
    "p99": "99th percentile of",
    "p999": "99.9th percentile of",
    "p9999": "99.99th percentile of",
}


def spelt(name: str) -> str:
    """A name of a key in words: ``message_size`` is message size."""
    return name.replace("_", " ")


def label_of(metric: str) -> str:
    """Label of a metric without its unit; for another column, its name in words."""
    metric, subject = parsed(metric)
    if subject:
        return of_subject_name(label_of(metric), subject)
    if metric in _LABELS:
        return _LABELS[metric]
    family, _, statistic = metric.rpartition("_")
    if family in _PERCENTILES and statistic in _RANKS:
        quantity, note = _PERCENTILES[family]
        return f"{_RANKS[statistic]} {quantity}{note}"
    return spelt(metric)


def in_sentence(label: str) -> str:
    """A label inside a sentence: in lower case, except names and acronyms."""
    return label[:1].lower() + label[1:] if label.partition(" ")[0][1:].islower() else label


def unit_of(metric: str) -> str:
    """Unit of a metric as printed: ``µs`` for us, empty for a ratio and for other columns."""
    unit = CATALOGUE[metric].unit if metric in CATALOGUE else ""
    return {"us": "µs", "ratio": "", "/s": "1/s"}.get(unit, unit)

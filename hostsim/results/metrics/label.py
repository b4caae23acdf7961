"""Labels of metrics for figures, tables and captions."""

from __future__ import annotations

from hostsim.results.metrics.catalogue import CATALOGUE
from hostsim.results.metrics.subject import of_subject_name, parsed

__all__ = ["in_sentence", "label_of", "spelt", "unit_of"]

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
        what, note = _PERCENTILES[family]
        return f"{_RANKS[statistic]} {what}{note}"
    return spelt(metric)


def in_sentence(label: str) -> str:
    """A label inside a sentence: in lower case, except names and acronyms."""
    return label[:1].lower() + label[1:] if label.partition(" ")[0][1:].islower() else label


def unit_of(metric: str) -> str:
    """Unit of a metric as printed: ``µs`` for us, empty for a ratio and for other columns."""
    unit = CATALOGUE[metric].unit if metric in CATALOGUE else ""
    return {"us": "µs", "ratio": "", "/s": "1/s"}.get(unit, unit)

"""Published claims that no shipped scenario answers yet."""

UNANSWERED = frozenset(
    {
        "dense.gain.order",
        "dense.packet_rate.ratio",
        "dense.throughput_bound",
        "dense.latency_sensitive",
        "80gbe.send.total_rate",
        "vxlan.single.throughput",
        "vxlan.single.cpu",
    }
)

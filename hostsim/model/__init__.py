"""Model of the host: scheduler, NICs, virtual switch, guests and workloads, with all mutable state."""

"""Model of the host: CPU scheduler, NICs, virtual switch, guests and workloads, with all mutable state."""

"""Periodic control loops of the host: NUMA-aware I/O and dense mode."""

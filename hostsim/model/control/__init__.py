"""Periodic control loops of the host: NUMA, CPU resources, splitRx and dense mode."""

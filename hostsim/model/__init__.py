"""MECHANISMS: the mutable parts of the simulated host."""

"""Benchmarks: wall time is recorded here and asserted nowhere. ``make bench`` writes ``build/bench.json``."""

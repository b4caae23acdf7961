"""The little that SimPy lacks: clock, rings, timers, arrivals, streams, probes."""

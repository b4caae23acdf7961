"""Discrete-event engine: event queue, clock, timers, packet trains, rings, arrivals, random streams, probes."""

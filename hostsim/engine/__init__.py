"""Discrete-event engine: event queue, clock, timers, packet trains, rings, random streams, probes."""

"""Scheduling, coalescing and placement policies: decisions from time, arguments and the state of the policy."""

"""Scheduling, coalescing and placement POLICIES: pure functions of the time and their arguments."""

"""Scheduling, coalescing and placement POLICIES: decisions from the time, the arguments and what a policy has stored of earlier ones."""

"""Policies of scheduling, coalescing, steering and placement: decisions from time and state."""

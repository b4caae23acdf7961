"""Verification of the simulator's parts against queueing theory and closed forms."""

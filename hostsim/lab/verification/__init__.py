"""VERIFICATION of the simulator's own parts against queueing theory and closed forms."""

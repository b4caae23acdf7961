"""Faults: the real command is disturbed, and the next one completes with the bytes of an undisturbed sweep."""

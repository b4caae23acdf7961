"""Scenario files: from text to a checked scenario, its points and its plan of runs."""

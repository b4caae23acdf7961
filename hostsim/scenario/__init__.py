"""SCENARIO FILES: from text to a checked scenario, its design points and its plan of runs."""

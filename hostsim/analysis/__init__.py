"""ANALYSIS of what results depend on: what-if comparison and sensitivity."""

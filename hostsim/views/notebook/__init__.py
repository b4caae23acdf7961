"""Notebook: HTML representations for Jupyter of scenarios, hosts, results and verdicts."""

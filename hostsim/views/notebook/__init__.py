"""Notebook: HTML representations of scenarios, hosts, results and verdicts for Jupyter."""

"""Workloads: traffic sources, TCP and UDP endpoints, web, transactions, CPU work."""

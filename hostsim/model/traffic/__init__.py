"""Traffic: sources, TCP and UDP endpoints, web, transactions, CPU work."""

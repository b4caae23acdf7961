"""Traffic: sources, TCP and UDP endpoints, web, transactions, tiers, VMkernel streams, CPU work."""

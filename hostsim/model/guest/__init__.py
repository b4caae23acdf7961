"""Guests: vCPUs with interrupts, network stack, sockets and processes; their network devices."""

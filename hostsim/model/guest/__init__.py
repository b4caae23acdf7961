"""Guests: vCPUs with interrupts, network stack, sockets and processes; and network devices."""

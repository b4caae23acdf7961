"""The transmit direction: NetWorlds with their queues, completions, delivery between VMs, departures on the wire."""

"""The transmit direction: NetWorlds, transmit queues, completions, local delivery, departures."""

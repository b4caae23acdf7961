"""PCPUs, worlds and the CPU scheduler at work."""

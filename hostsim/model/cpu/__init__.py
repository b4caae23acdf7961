"""The CPU scheduler: PCPUs, run queues, worlds, NUMA nodes, balancing, co-scheduling, hyperthreads."""

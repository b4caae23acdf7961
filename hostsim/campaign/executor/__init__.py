"""Executors of runs: in this process, in a pool of worker processes, or on a Dask cluster."""

"""Command line of hostsim, thin over the Python interface in `hostsim.api`."""

"""Command line of hostsim; its commands call the Python interface in `hostsim.api`."""

"""The command line, thin over `hostsim.api`."""

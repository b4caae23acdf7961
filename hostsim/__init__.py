"""hostsim: a discrete-event simulator of the network stack of an ESXi-style host."""

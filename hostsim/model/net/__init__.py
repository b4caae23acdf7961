"""Network I/O: wires, physical NICs, NetQueues, NetPolls, virtual switches, vNICs, NetWorlds and DirectPath I/O."""

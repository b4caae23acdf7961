"""The receive direction: wires, physical NICs, receive contexts with the virtual switch, and vNICs."""

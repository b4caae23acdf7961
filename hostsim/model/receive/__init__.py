"""The receive direction: wires, physical NICs, receive contexts with the virtual switch, vNICs, and the steering of frames."""

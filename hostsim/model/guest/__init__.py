"""What runs inside a VM: stack, sockets, applications."""

"""Physical NICs, virtual switches and virtual NICs."""

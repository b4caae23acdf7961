"""Specifications of a host and its workload: frozen, checked values; text with units becomes numbers."""

"""Validation across parts: references between parts, and capacity of the host."""

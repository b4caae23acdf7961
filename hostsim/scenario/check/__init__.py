"""Validation across parts: references between parts, and what must fit on the host."""

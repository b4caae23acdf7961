"""Validation across parts: what one part names another must have, and what must fit on the host."""

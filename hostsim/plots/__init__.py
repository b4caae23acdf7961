"""Figures, from tables."""

"""Figures of tables and verdicts with matplotlib."""

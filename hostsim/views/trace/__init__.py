"""Traces of one run: scheduler timeline, interrupts and queue lengths, written for Perfetto."""

"""Expectations of a scenario file: their schema, searches and stopping rules."""

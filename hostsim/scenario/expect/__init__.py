"""Expectations of a scenario file: their schema, and the searches and stopping rules that answer them."""

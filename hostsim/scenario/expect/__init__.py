"""Expectations of a scenario file: their schema, the searches and stopping rules that answer them."""

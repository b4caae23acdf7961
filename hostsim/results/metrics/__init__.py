"""Metrics: the catalogue of measures, and the functions that compute them from a record."""

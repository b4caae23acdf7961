"""Calibration of the cost model to published claims, or of a user's own host."""

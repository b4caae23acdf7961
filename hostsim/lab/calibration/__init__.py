"""CALIBRATION of the cost model to published claims."""

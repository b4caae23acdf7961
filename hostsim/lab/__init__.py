"""Studies that need many runs: calibration, verification, predictions, sensitivity analysis. No run imports them."""

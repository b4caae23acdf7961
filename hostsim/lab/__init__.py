"""Studies with many runs: calibration, verification, predictions, sensitivity analysis. Runs never import them."""

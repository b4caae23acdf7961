"""Results of runs: tables, point estimates, verdicts and paired differences, as plain values."""

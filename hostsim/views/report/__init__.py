"""Report: the self-contained HTML report, and results folders with figures."""

"""PLOTS: figures of tables and verdicts with matplotlib."""

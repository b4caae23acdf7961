"""FROM records to numbers: tables and verdicts (pandas)."""

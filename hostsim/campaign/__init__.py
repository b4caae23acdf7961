"""FROM a plan to records: simulate, drive, executors, store."""

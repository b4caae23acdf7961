"""From a plan to records: simulation, driver, executors, store."""

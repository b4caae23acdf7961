"""What a scenario and a host look like: pages and drawings for notebooks."""

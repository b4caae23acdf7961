"""FROM TEXT to a plan: load, points, search."""

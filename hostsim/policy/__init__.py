"""DECISIONS: pure functions, told the time and what they need."""

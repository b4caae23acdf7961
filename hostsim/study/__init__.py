"""STUDIES of the simulator itself: its own parts held against theory."""

"""Explorer: a self-contained interactive page to explore the results of a sweep."""

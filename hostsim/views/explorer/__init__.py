"""Explorer: a self-contained page with script to explore the results of a sweep."""

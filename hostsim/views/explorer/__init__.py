"""Explorer: a self-contained page with script, on which the results of a sweep are looked at."""

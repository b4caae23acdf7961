"""Sphinx extensions of the pages: the reference, which is generated from the product, and sessions that are run."""

"""What Sphinx needs to build the pages: the reference, written from the product itself, and sessions that are run."""

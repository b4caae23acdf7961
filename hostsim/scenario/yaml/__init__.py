"""Strict YAML, and files of products: from text to trees with the line of every value."""

"""Strict YAML and the files of the trade: text to trees whose places know their lines."""

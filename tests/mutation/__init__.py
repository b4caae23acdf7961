"""Mutation testing: faults planted into copies of the source tree, each of which a test must detect."""

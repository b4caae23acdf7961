"""The product's parts against theory."""

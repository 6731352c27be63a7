"""Optimisers that are loaded by their names."""

"""Generators of bad inputs: one module for every kind of thing that a stranger may hand over."""

"""Subjects made of other subjects."""

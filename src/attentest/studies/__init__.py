"""Runs: one cell of a study, from a corpus to findings on disk."""

"""Runs: from what a person asks for to findings on disk."""

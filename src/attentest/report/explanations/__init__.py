"""Explanations of single texts, in the terminal and as a page."""

"""Answers and items to other tools, and answers collected elsewhere back."""

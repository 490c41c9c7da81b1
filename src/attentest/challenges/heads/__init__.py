"""Heads: which heads does the prediction need, and how much of their attention lies on no word?"""

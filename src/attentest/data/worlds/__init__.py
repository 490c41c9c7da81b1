"""Worlds: generated corpora that can intervene in their own texts, so that what a model uses can be computed."""

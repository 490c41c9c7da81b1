"""Passes through part of a model: above a site, over copies of texts, with attention edited."""

"""Explainers that read attention weights."""

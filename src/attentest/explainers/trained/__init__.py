"""Explainers that are trained themselves, on the training texts of a finished model."""

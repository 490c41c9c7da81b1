"""Explainers that hand the output back, layer by layer."""

"""Explainers made of gradients."""

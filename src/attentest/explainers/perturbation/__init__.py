"""Explainers that take words out, or cover them."""

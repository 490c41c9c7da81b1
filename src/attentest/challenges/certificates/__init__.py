"""Certificates: what can be checked of every explainer's scores, text by text."""

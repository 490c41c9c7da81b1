"""Audits of sources in a browser: what every method is worth, question by question, passage by passage."""

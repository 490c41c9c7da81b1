"""Campaigns: many generated cases against one promise, each repeated by its seed. ``python -m tests.campaigns``."""

"""Designs, one file each. Whatever design a module here defines is found; nothing is listed."""

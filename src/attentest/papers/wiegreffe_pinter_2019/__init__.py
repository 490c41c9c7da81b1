"""Wiegreffe & Pinter 2019."""

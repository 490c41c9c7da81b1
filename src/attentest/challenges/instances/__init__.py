"""Instances: what every later page needs to show one instance: tokens, prediction, attention, scores."""

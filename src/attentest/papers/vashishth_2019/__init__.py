"""Vashishth et al. 2019: their figures 2, 3 and 4, drawn from finished runs."""

"""Calibration: models whose truth is known by intervention, and what every test says of them."""

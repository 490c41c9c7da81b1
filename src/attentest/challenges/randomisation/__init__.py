"""Randomisation: does an explanation change when the model it explains is destroyed?"""

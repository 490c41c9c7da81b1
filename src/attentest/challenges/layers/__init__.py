"""Layers: what is left of a prediction when the attention of more and more layers is replaced?"""

"""Knock-out: does the prediction change most without the word that attention weighs most?"""

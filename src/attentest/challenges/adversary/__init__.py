"""Adversary: is there a very different attention that leaves the prediction as it was?"""

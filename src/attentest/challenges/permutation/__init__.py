"""Permutation: does the prediction change when the weights are shuffled over the tokens?"""

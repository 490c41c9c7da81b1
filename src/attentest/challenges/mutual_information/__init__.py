"""Mutual information: how much do the states still say about their words?"""

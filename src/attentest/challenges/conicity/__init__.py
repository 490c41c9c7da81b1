"""Conicity: do all states of a text point the same way?"""

"""Gating: is a token's weight a function of its own state alone?"""

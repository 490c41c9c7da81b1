"""Trained uniform: does a model that never had attention predict as well?"""

"""Uniform: does the model need its attention when it predicts?"""

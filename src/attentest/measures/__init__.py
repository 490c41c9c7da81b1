"""Pure functions of tensors: divergences, rank agreement, exact optima, random numbers, intervals.

Import them from their files. This one imports nothing, so that ``bootstrap`` works without torch.
"""

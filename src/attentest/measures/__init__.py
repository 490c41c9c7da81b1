"""Pure functions of tensors: divergences, rank agreement, exact optima, random numbers."""

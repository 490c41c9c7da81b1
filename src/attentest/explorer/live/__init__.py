"""What a run's own model says of texts and weights, on demand: the one part of the explorer that needs torch."""

"""A user's own PyTorch model as a subject."""

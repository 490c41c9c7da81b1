"""One training loop, its objectives, and checkpoints."""

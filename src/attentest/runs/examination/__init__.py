"""Put the challenges of a run to all its texts."""

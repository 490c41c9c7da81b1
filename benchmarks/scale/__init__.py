"""How cost grows, and how far more cores carry."""

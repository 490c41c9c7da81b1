"""Commands that compute many models, and what is seen of them meanwhile."""

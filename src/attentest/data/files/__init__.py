"""A user's own rows, from files or from memory, as a corpus."""

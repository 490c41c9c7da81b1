"""Sources: which passages of its context a language model's answer came from, and whether attention tells."""

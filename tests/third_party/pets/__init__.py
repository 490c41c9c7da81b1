"""A package of somebody else's: a corpus, an explainer, and a challenge with its presentation."""

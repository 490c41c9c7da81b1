"""Soft faithfulness: erasing parts of every token's embedding in proportion to its score, instead of whole tokens."""

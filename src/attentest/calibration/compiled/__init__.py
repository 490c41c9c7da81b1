"""Compiled transformers: BERT models whose weights are written by hand, so that it is known what each head does."""

"""A text of a run in a notebook, with weights that can be changed."""

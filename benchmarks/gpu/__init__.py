"""Speed on a GPU, side by side."""

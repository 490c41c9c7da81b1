"""Studies in the terminal and as CSV."""

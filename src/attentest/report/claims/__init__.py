"""A paper's claims beside ours, in the terminal and as a page."""

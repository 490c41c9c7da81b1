"""The explorer: runs, texts and weights to look at and to change, in a browser, on this machine."""

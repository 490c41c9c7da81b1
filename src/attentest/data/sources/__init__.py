"""Where corpora come from: an official archive, the hub, a folder."""

"""The page of a run, and what all pages share."""

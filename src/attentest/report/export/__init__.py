"""Every figure and table of a run as files for a paper or a slide."""

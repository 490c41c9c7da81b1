"""From lines to a verdict: what this attention may be used for, and by whom."""

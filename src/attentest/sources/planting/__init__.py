"""Questions whose deciding source is planted, and whether a model's answer hangs on it, by intervention."""

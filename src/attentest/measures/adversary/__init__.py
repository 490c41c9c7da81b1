"""How far attention can move while a prediction stays: exact, bracketed or searched."""

"""Studies: grids of runs, planned, computed by an engine and recorded."""

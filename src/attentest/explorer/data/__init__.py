"""What pages show, as plain values from findings; no torch."""

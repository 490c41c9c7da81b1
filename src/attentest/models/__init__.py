"""Models with attention, and the seam through which it is read and replaced."""

"""Standing: does what a state says come from its own word?"""

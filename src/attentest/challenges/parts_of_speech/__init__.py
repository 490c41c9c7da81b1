"""Parts of speech: on which kinds of words does attention lie?"""

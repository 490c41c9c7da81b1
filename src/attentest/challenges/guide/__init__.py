"""Guide: do the weights help a model that knows nothing but single words?"""

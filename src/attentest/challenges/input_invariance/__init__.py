"""Input invariance: does an explanation stay the same when the origin of the embeddings is moved?"""

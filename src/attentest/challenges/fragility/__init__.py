"""Fragility: do small changes of the embeddings that leave the prediction move the explanation?"""

"""BLEU by layers: does a Transformer translate as well when the attention of more and more layers is replaced?"""

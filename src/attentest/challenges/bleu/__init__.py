"""BLEU: does a translator write as well when its attention is not its own?"""

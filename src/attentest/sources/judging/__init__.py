"""Judgement: how well methods say where answers came from, over many questions, with intervals."""

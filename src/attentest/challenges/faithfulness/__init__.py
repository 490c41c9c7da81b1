"""Faithfulness: does the prediction change without the tokens an explainer puts first, and hold with them alone?"""

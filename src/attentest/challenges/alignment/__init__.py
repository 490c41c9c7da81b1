"""Alignment: does a translator look at the words that it translates?"""

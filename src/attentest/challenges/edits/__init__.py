"""Edits: does the prediction follow people's edits, and do explanations point at the edited words?"""

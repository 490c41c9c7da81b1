"""Agreement: do two explainers rank the tokens of an instance alike?"""

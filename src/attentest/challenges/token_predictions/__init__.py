"""Token predictions: what would the model predict from one token's state alone?"""

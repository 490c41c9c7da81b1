"""Joint adversary: may the attention of all layers be very different at once, and the prediction stay?"""

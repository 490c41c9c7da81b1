"""Flip sets: how many weights must go before the decision flips, in several orders and at the least?"""

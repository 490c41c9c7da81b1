"""Adversarial training: could a whole model attend elsewhere and predict the same?"""

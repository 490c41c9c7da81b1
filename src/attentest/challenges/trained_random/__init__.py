"""Trained random: does a model that only ever had random weights predict as well?"""

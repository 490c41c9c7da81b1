"""Importance: how much of what mattered do the top words of attention hold?"""

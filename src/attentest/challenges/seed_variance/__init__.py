"""Seed variance: how much does attention vary over seeds?"""

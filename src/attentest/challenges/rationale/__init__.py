"""Rationale: do the scores point at the tokens that decide the label (or that people marked)?"""

"""Single weight: does removing the largest weight change the prediction more than removing another one?"""

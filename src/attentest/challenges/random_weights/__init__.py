"""Random weights: does the model need its own attention when it predicts, or would any do?"""

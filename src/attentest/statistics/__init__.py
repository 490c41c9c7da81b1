"""Intervals, paired comparisons, seeds, scores of classifiers: NumPy, SciPy and scikit-learn, no torch."""

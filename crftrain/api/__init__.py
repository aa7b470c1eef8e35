"""crftrain from Python: data as Python has them, an estimator, a tagger."""

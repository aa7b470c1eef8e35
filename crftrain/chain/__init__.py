"""The objective over a corpus: which weights there are, value, gradient and products by forward and backward passes."""

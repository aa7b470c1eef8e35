"""Perceptron and margin methods: ap, pa, arow, mira."""

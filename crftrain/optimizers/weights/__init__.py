"""Stores of weights: what steps leave unpaid, store by store."""

"""Batch methods: lbfgs, owlqn, newton-cg, hybrid, gis."""

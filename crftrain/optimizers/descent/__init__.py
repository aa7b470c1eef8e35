"""Stochastic descent: sgd, sgd-l1, adagrad, smd, ngd, psa."""

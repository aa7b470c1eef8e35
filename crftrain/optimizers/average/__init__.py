"""Stochastic average gradients and their kin: sag, saga, svrg."""

"""Risk and gain of each alpha, and the choice of alpha."""

ALPHAS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""The alphas of a trade-off; 30 is the one at which SIGIR 2012 leaves its curve for the coin."""

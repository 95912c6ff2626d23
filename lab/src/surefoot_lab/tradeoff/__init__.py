"""What each alpha costs and brings: the plane of risk and gain, and which alpha to choose."""

ALPHAS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""The alphas of a trade-off; 30 is the one at which SIGIR 2012 leaves its curve for the coin."""

"""Plots of trade-offs and of the atlas."""

"""Figures of agreement and of trade-offs."""

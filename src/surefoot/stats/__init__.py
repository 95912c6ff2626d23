"""Inference: significance, intervals, power, and agreement of rankings."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

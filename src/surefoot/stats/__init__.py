"""Inference: significance, intervals, power, and correlation of rankings."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

"""Analyses of `Scores`: which system is compared with which baseline, and the resulting tables."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

"""Analyses over `Scores`: what is compared with what, and the tables that follow."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

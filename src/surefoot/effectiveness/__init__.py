"""Effectiveness measures of runs, topic by topic. Names are loaded when first used."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

"""Inference: what is noise, how sure a number is, and how far rankings agree."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

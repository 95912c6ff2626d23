"""From files to runs, judgments and scores. Nothing in here computes risk."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

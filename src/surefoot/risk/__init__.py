"""Risk measures: value functions, sufficient statistics, the registry of measures, and pure functions of arrays."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

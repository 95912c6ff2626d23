"""Guards make any ranker safe from outside: they blend it with its baseline, with a certificate on request."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

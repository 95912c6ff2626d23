"""The release gate: may this candidate replace the baseline? Rules, checks, verdict, ratchet and configuration file."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

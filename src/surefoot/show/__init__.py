"""Rendering of results: tables, the report, the judging page. Nothing in here decides about significance."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

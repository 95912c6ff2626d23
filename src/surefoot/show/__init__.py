"""Rendering of results: tables, the report, the judging page. Nothing here decides what is significant."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

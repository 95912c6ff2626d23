"""Gaps in the judgments: unjudged documents, assessors who differ, and what to judge next."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

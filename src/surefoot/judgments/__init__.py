"""What the judgments can't tell: documents that nobody judged, assessors who differ, and what to judge next."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

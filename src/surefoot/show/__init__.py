"""From results to what people read: tables, figures, reports. Nothing in here decides what is significant."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

"""Surefoot: which queries did the new ranker make worse, is that noise, and how to train one that doesn't.

The public names are listed in ``__init__.pyi`` and loaded when they are first used.
"""

from surefoot._lazy import attach
from surefoot._version import __version__ as __version__

__getattr__, __dir__ = attach(__name__, moved=True)

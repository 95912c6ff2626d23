"""The papers and studies behind Surefoot: reproduction, experiments, trade-off, retrieval, collections.

The public names are listed in ``__init__.pyi`` and loaded when they are first used.
"""

from surefoot._lazy import attach
from surefoot_lab._version import __version__ as __version__

__getattr__, __dir__ = attach(__name__)

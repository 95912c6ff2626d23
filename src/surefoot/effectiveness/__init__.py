"""How well runs rank: effectiveness measures of each topic, over sets of runs. Names are loaded when first used."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

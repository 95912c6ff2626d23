"""Risk-sensitive losses for PyTorch rankers. Names are loaded when they are first used."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__, needs={"surefoot.torch.cross_encoder": "sentence_transformers"})

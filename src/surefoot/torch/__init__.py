"""Risk-sensitive losses for PyTorch rankers. Names are loaded when they are first used."""

from surefoot._lazy import attach
from surefoot.errors import SurefootError

_load, __dir__ = attach(__name__)
_PACKAGES = {"torch": "'surefoot[torch]'", "sentence_transformers": "sentence-transformers"}


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        raise SurefootError(f"surefoot.torch.{name} needs {error.name}: pip install {_PACKAGES[error.name]}") from None

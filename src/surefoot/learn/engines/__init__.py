"""What trains and applies models, behind one protocol: the libraries that grow trees, and linear learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from surefoot._fork import uses_threads
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.learn.settings import ENGINES, Settings

if TYPE_CHECKING:
    from surefoot.learn.training_run import TrainingRun

INSTALL = "learning needs more packages: pip install 'surefoot[learn]'"
MODEL_FILES = {"lightgbm": "model.txt", "xgboost": "model.json", "linear": "weights.json"}
"""The name of a model's file, by engine."""
UNGUARDED_FILES = {"lightgbm": "unguarded-trees.txt", "xgboost": "unguarded-trees.json"}
"""The name of the file of a guarded model's trees, by engine."""


class Engine(Protocol):
    """A library of boosted trees. ``error`` is what it raises."""

    error: type[Exception]
    version: str

    def params(self, settings: Settings) -> dict[str, Any]:
        """The engine's own parameters for these settings."""

    def validate_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, complete; those that have another name in `Settings`, or can't be resumed, are refused."""

    def bag_params(self, params: Mapping[str, Any], seed_gap: int) -> dict[str, Any]:
        """The user's parameters for a bag: each tree sees a part of documents and features; seeds are increased."""

    def average(self, texts: Sequence[str]) -> str:
        """The mean of models over the same features, as one model; one model is returned as it is."""

    def train(self, run: TrainingRun) -> str:
        """Boost, and return the text of the model, all trees up to the best iteration."""

    def load(self, text: str) -> Any:
        """The engine's own object of a model's text."""

    def predict(self, booster: Any, features: Any) -> Any:
        """The score of each row."""

    def importances(self, booster: Any, features: int) -> FloatArray:
        """How much each of so many features contributes to the model."""


def engine_of(name: str) -> Engine:
    """The engine of a name, if its library is installed."""
    uses_threads()
    try:
        if name in ENGINES:
            import_module(name)
        module = import_module(f"surefoot.learn.engines.{name}")
    except ModuleNotFoundError as error:
        extra = INSTALL.replace("[learn]", "[xgboost]") if error.name == "xgboost" else INSTALL
        raise SurefootError(f"{extra} (no {error.name})") from None
    engine: Engine = module.ENGINE
    return engine


__all__ = ["ENGINES", "INSTALL", "MODEL_FILES", "UNGUARDED_FILES", "Engine", "engine_of"]

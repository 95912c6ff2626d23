"""The libraries that train and apply models, behind one protocol.

Other distributions register engines by the entry-point group ``surefoot.engines``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from surefoot._lazy import optional, plugins
from surefoot._process import uses_threads, without
from surefoot._typing import FloatArray
from surefoot.learn.settings import ENGINES, Settings

if TYPE_CHECKING:
    from surefoot.learn.training import TrainingRun

MODEL_FILES = {"lightgbm": "model.txt", "xgboost": "model.json"}
"""The name of a model's file, by engine."""
UNGUARDED_FILES = {"lightgbm": "unguarded-trees.txt", "xgboost": "unguarded-trees.json"}
"""The name of the file of a guarded model's trees, by engine."""


class Engine(Protocol):
    """A library that trains models. ``error`` is the exception that it raises."""

    error: type[Exception]
    version: str
    draws_by_key: bool
    """Whether queries and rows are drawn by the hash of their query's id, so that clusters draw the same."""

    def params(self, settings: Settings) -> dict[str, Any]:
        """The engine's own parameters for these settings."""

    def validate_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The complete parameters; those that have another name in `Settings`, or can't be resumed, are refused."""

    def bag_params(self, params: Mapping[str, Any], seed_gap: int) -> dict[str, Any]:
        """The parameters for a bag: each tree sees a part of documents and features, and seeds are increased."""

    def average(self, texts: Sequence[str]) -> str:
        """The mean of models over the same features, as one model; one model is returned as it is."""

    def train(self, run: TrainingRun) -> str:
        """Train, and return the text of the model: all trees up to the best iteration."""

    def load(self, text: str) -> Any:
        """The engine's own object of a model's text."""

    def predict(self, booster: Any, features: Any) -> Any:
        """The score of each row."""

    def importances(self, booster: Any, features: int) -> FloatArray:
        """The importance of each feature."""


class RegisteredEngine(Engine, Protocol):
    """An engine of another distribution: the names of its learners, and of the file of a model."""

    learners: Sequence[str]
    model_file: str


def registered_engines() -> dict[str, RegisteredEngine]:
    """The engines of other distributions, by name."""
    return {name: engine for name, _, engine in plugins("surefoot.engines")}


def model_file(engine: str) -> str:
    """The name of the file of a model of this engine; raises a KeyError if it is unknown."""
    return MODEL_FILES.get(engine) or registered_engines()[engine].model_file


def engine_of(name: str) -> Engine:
    """The engine of this name; an error if its library is not installed."""
    uses_threads()
    if name not in ENGINES:
        return registered_engines()[name]
    with without("dask", "pandas", "sklearn"):
        engine: Engine = optional(f"surefoot.learn.engines.{name}").ENGINE
    return engine


__all__ = ["ENGINES", "UNGUARDED_FILES", "Engine", "engine_of", "model_file", "registered_engines"]

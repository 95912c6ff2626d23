"""The libraries that train and apply models, behind one protocol; `surefoot.learn.settings.engine_of` finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from surefoot._typing import FloatArray

if TYPE_CHECKING:
    from surefoot.learn.run import TrainingRun
    from surefoot.learn.settings import Settings


class Engine(Protocol):
    """A library that trains models. ``error`` is the exception that it raises."""

    error: type[Exception]
    version: str
    learners: Sequence[str]
    """The learners of a registered engine, and the file name of its models."""
    model_file: str
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

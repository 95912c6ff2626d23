"""A trained ranker: a plain model of its engine, a guard if it has one, and a card with its settings and data.

A folder has ``model.txt`` (LightGBM) or ``model.json`` (XGBoost), which any reader of such models takes, and
``card.json``. A guarded model has a ``guard.json`` too, and its trees are in a file that no engine reads,
``unguarded-trees.txt`` or ``unguarded-trees.json``, since they would rank without the guard. None is a pickle, so
loading a model runs no code from it.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from surefoot._typing import PathLike
from surefoot._version import __version__
from surefoot.errors import InputError, SurefootError, listed
from surefoot.io.atomic import digest_of, write_text
from surefoot.io.files import parse_json
from surefoot.io.shapes import fits
from surefoot.learn.baseline import baselines_of, form_scores, guard_scores
from surefoot.learn.data import RankingData, as_matrix
from surefoot.learn.joining import widened
from surefoot.learn.model_files import validate_text
from surefoot.learn.queries import for_model, in_order, order_by_query
from surefoot.learn.settings import FIELDS, Settings, engine_of, registered_engines
from surefoot.results import plain
from surefoot.scores import FloatArray

if TYPE_CHECKING:
    from surefoot.learn.baseline import Baselines
    from surefoot.learn.run import Run
    from surefoot.learn.validation import History

CARD, GUARD = "card.json", "guard.json"
MODEL_FILES = {"lightgbm": "model.txt", "xgboost": "model.json"}
"""The name of a model's file, by engine."""
UNGUARDED_FILES = {"lightgbm": "unguarded-trees.txt", "xgboost": "unguarded-trees.json"}
"""The name of the file of a guarded model's trees, by engine."""
NEEDS_QUERIES = (
    "the model uses its baseline's ranking or a feature of the query, so it must know the query of each document; give "
    "RankingData, or qid"
)
UNGUARDED = "These trees are of a guarded model and rank without its guard: use surefoot, or `surefoot export`.\n"
"""The first line of a guarded model's trees, so that engines refuse the file."""

__all__ = ["CARD", "Model", "load_model"]


def card_of(run: Run, baselines: Baselines, histories: Sequence[History]) -> dict[str, Any]:
    """The card of a model: its settings, baselines, history and data."""
    settings, data = run.settings, run.data
    return {
        "surefoot": __version__,
        "python": platform.python_version(),
        "engine": {"name": settings.model_engine, "version": run.engine.version},
        "settings": settings.identity(),
        "baselines": list(baselines.names),
        "notes": list(baselines.notes),
        "metric": str(settings.reported_metric),
        "trees": sum(history.best_trees for history in histories),
        "best_iteration": histories[0].best_iteration,
        "stopped_on": histories[0].stop_on,
        "data": {
            "source": data.source,
            "fingerprint": data.fingerprint,
            "queries": len(data),
            "documents": int(data.labels.size),
            "features": int(data.features.shape[1]),
            "first_feature": data.first_feature,
            "feature_names": data.feature_names,
        },
    }


class Blend(Protocol):
    """Two scores of each document in, one out, as a guard does; the rows of query q are bounds[q] to bounds[q + 1]."""

    def blend(self, baseline: npt.ArrayLike, candidate: npt.ArrayLike, bounds: npt.ArrayLike) -> FloatArray:
        """A score for each document, higher is better."""

    def save(self, path: PathLike) -> None:
        """Write it as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""


@dataclass(frozen=True, eq=False)
class Model:
    """A trained ranker.

    Parameters
    ----------
    engine : str
        "lightgbm" or "xgboost".
    text : str
        The model as its engine writes it.
    card : mapping
        The settings, the data and the history of the training.
    guard : Blend, optional
        Blends the scores of the trees with those of the baseline that the card names.

    Examples
    --------
    >>> from surefoot.learn import Settings, train
    >>> data = RankingData.of([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> model = train(data, settings=Settings("lambdamart", n_estimators=2, min_child_samples=1)).model
    >>> model.predict(data).shape, model.card["trees"]
    ((4,), 2)
    """

    engine: str
    text: str
    card: Mapping[str, Any]
    guard: Blend | None = None

    def predict(self, data: Any, qid: Any = None, baseline: Any = None) -> FloatArray:
        """The score of each document; a guarded model gives whole numbers that fall with the rank.

        Parameters
        ----------
        data : RankingData or array
            The documents. Trailing features that `RankingData` lack are 0.
        qid : array, optional
            The query of each row of an array; a model with a guard or a query feature needs it.
        baseline
            The baseline of these documents, as `baselines_of` takes it; needed if the model is guarded by a baseline
            that is not a feature.

        Returns
        -------
        array
            A score for each row.
        """
        if isinstance(data, RankingData):
            return self._trees(data) if self.guard is None else self._guarded(self.guard, data, baseline)
        if self.guard is None and self._query_feature is None:
            return self._trees(data)
        if qid is None:
            raise SurefootError(NEEDS_QUERIES)
        order = order_by_query(qid)
        rows = RankingData.of(data, np.zeros(order.size), qid, feature_names=_names_of(data))
        scores = np.empty(order.size)
        scores[order] = self.by_index().predict(rows, baseline=in_order(baseline, order))
        return scores

    def _guarded(self, guard: Blend, data: RankingData, baseline: Any) -> FloatArray:
        rows = self._filled(data)
        return guard.blend(self._baseline_scores(rows, baseline), self._trees(rows), rows.bounds)

    def _baseline_scores(self, data: RankingData, given: Any) -> FloatArray:
        """The scores of the baseline that the guard was fitted with, from the features if it is one of them."""
        kept = self.card["guard"]
        if kept["form"] is not None:
            return guard_scores(form_scores(kept["form"], kept["column"], data))
        if given is None:
            raise SurefootError(
                f"the model is guarded by {kept['baseline']!r}, which is not a feature; give the baseline's scores of "
                "these documents, as --baseline run:FILE or baseline=..."
            )
        return guard_scores(baselines_of(given, data).ranking("a guard"))

    def _trees(self, data: Any) -> FloatArray:
        trained = self.card["data"]
        if isinstance(data, RankingData):
            data = self._filled(data)
        if self._query_feature:
            data = for_model(data, self._query_feature, trained["features"])
        matrix = data.features if isinstance(data, RankingData) else as_matrix(data)
        self._validate_names(_names_of(data))
        if matrix.shape[1] != trained["features"]:
            raise SurefootError(f"the model was trained on {trained['features']} features; got {matrix.shape[1]}")
        first = trained["first_feature"]
        if isinstance(data, RankingData) and first not in (None, data.first_feature):
            raise SurefootError(
                f"{data.source}: features are numbered from {data.first_feature}, in training from {first}"
            )
        return np.asarray(engine_of(self.engine).predict(self.booster, matrix), dtype=np.float64)

    def _filled(self, data: RankingData) -> RankingData:
        """Data without names, with zeros for trailing features that they lack."""
        fewer = data.feature_names is None and data.features.shape[1] < self.card["data"]["features"]
        return self.align(data) if fewer else data

    def align(self, data: RankingData) -> RankingData:
        """The data with the model's features: missing ones are 0, further ones are an error."""
        first, width = self.card["data"]["first_feature"], self.card["data"]["features"]
        own = width - 1 if self._query_feature else width
        return widened(data, data.first_feature if first is None else first, own)

    @property
    def _query_feature(self) -> str | None:
        """The query feature that the model was trained with, its last feature."""
        spec = self.card.get("settings", {}).get("query_feature")
        return None if spec is None else str(spec)

    def by_index(self) -> Model:
        """The same model for a matrix, whose features have no numbers as in a file."""
        return replace(self, card={**self.card, "data": {**self.card["data"], "first_feature": None}})

    def _validate_names(self, names: Sequence[str] | None) -> None:
        """Refuse columns in another order than in training."""
        trained = self.card["data"]["feature_names"]
        if names and trained and list(names) != list(trained):
            raise SurefootError(
                f"the model was trained on the features {listed(trained)}, in this order; got {listed(names)}"
            )

    @cached_property
    def settings(self) -> Settings:
        """The settings of the training."""
        return Settings(**{name: value for name, value in self.card["settings"].items() if name in FIELDS})

    @cached_property
    def booster(self) -> Any:
        """The engine's own object: the trees, without the guard."""
        engine = engine_of(self.engine)
        try:
            return engine.load(self.text)
        except (engine.error, ValueError):  # LightGBM reads its parameters as JSON
            raise SurefootError(f"the model is damaged: {self.engine} can't load its text; train it again") from None

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its card to a folder; the card is last, so that a folder with a card is complete."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / CARD).unlink(missing_ok=True)
        text, file = self.text, _file_of(self.engine, self.guard is not None)
        if self.guard is not None:
            text = UNGUARDED + text
            self.guard.save(path / GUARD)
        write_text(path / file, text)
        card = {**self.card, "model": {"file": file, "blake2b": digest_of(text)}}
        write_text(path / CARD, json.dumps(plain(card), indent=2, ensure_ascii=False) + "\n")

    def __getstate__(self) -> dict[str, Any]:
        return {"engine": self.engine, "text": self.text, "card": self.card, "guard": self.guard}


def _file_of(engine: str, guarded: bool) -> str:
    """The name of the file of a model's trees; raises a KeyError if the engine is unknown."""
    files = UNGUARDED_FILES if guarded else MODEL_FILES
    return files[engine] if engine in files else registered_engines()[engine].model_file


def _names_of(data: Any) -> Sequence[str] | None:
    if isinstance(data, RankingData):
        return data.feature_names
    return [str(name) for name in data.columns] if hasattr(data, "columns") else None


def load_model(folder: str | os.PathLike[str]) -> Model:
    """The model of a folder that `train` or `RiskRanker.save` wrote.

    Parameters
    ----------
    folder : path
        The folder.

    Returns
    -------
    Model

    Examples
    --------
    >>> load_model("nowhere")
    Traceback (most recent call last):
    surefoot.errors.InputError: nowhere: is not a folder of a trained model: no card.json in it
    """
    path = Path(folder)
    try:
        card = _read_card(path / CARD)
        engine, digest = card["engine"]["name"], card["model"]["blake2b"]
        guarded = card["model"]["file"] == UNGUARDED_FILES.get(engine)
        file = path / _file_of(engine, guarded)
        text = file.read_text("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(path, f"is not a folder of a trained model: no {Path(error.filename).name} in it") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(path / CARD, "is not the card of a trained model; train it again") from None
    if digest_of(text) != digest:  # a damaged file can crash the engine
        raise InputError(file, f"is not the model of {CARD} beside it, or damaged; train it again")
    text = text.removeprefix(UNGUARDED)
    validate_text(engine, text, file)
    if not guarded:
        return Model(engine, text, card)
    from surefoot.guard.guard import Guard

    return Model(engine, text, card, Guard.load(path / GUARD))


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


_DATA = {"features": _is_count, "first_feature": (None, _is_count), "feature_names": (None, [str])}
"""The shapes of the entries on data that a card must have."""


def _read_card(path: Path) -> dict[str, Any]:
    """The card of a model; raises a KeyError, TypeError or ValueError if something is missing."""
    card: dict[str, Any] = parse_json(path.read_text("utf-8"))
    data = card["data"]
    if not fits({"settings": card["settings"], **{name: data[name] for name in _DATA}}, {"settings": dict, **_DATA}):
        raise ValueError
    if "guard" in card and card["guard"]["form"] is not None and card["guard"]["column"] not in range(data["features"]):
        raise ValueError
    return card

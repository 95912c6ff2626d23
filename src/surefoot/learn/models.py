"""A trained ranker: a plain model of its engine, a guard if it has one, and a card that says what it was trained for.

In a folder they are ``model.txt`` (LightGBM) or ``model.json`` (XGBoost), which work in whatever reads such models, and
``card.json``. A guarded model has a ``guard.json`` too, and its trees, which alone would rank without the guard, are in
a file that no engine reads: ``unguarded-trees.txt`` or ``unguarded-trees.json``. None is a pickle, so loading a model
runs no code of its maker.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InputError, SurefootError, listed
from surefoot.guard.blends import Scale
from surefoot.guard.guard import Guard
from surefoot.guard.pairs import Pair
from surefoot.io.atomic import digest_of, write_text
from surefoot.io.json_text import parse_json
from surefoot.learn.baseline import baselines_of, form_scores, guard_scores
from surefoot.learn.data import RankingData, as_matrix, queries_of
from surefoot.learn.engines import INSTALL, MODEL_FILES, UNGUARDED_FILES, engine_of
from surefoot.learn.feature_alignment import widened
from surefoot.learn.model_texts import validate_text
from surefoot.learn.query_features import for_model
from surefoot.learn.settings import Settings
from surefoot.results import plain
from surefoot.scores import FloatArray

CARD, GUARD = "card.json", "guard.json"
NEEDS_QUERIES = "the model is guarded by its baseline's ranking, so it must know which documents are of one query"
INTERPOLATION = "interpolation"
"""What a card of version 0.1 calls its guard."""
UNGUARDED = "These trees are of a guarded model and rank without its guard: use surefoot, or `surefoot export`.\n"
"""The first line of a guarded model's trees, at which engines give up reading the file."""

__all__ = ["CARD", "INSTALL", "Model", "load_model"]


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
        What the model was trained for, and from what.
    guard : Guard, optional
        How the scores of the trees are blended with those of the baseline that the card names.

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
    guard: Guard | None = None

    def predict(self, data: Any, qid: Any = None, baseline: Any = None) -> FloatArray:
        """The score of each document; that of a guarded model is a whole number that falls with the rank.

        Parameters
        ----------
        data : RankingData or array
            The documents; `RankingData` that end before the model's last feature are filled up with zeros.
        qid : array, optional
            The query of each row of an array; a guarded model needs it.
        baseline
            The baseline of these documents, as `baselines_of` takes it: for a guarded model whose baseline is not a
            feature.

        Returns
        -------
        array
            A score for each row.
        """
        if self.guard is None:
            return self._trees(data)
        if isinstance(data, RankingData):
            return self._guarded(self.guard, data, baseline)
        if qid is None:
            raise SurefootError(f"{NEEDS_QUERIES}; give RankingData, or qid")
        rows = RankingData.of(data, np.zeros(len(data)), qid, feature_names=_names_of(data))
        scores = np.empty(rows.labels.size)
        scores[np.argsort(queries_of(qid)[1], kind="stable")] = self.by_index()._guarded(self.guard, rows, baseline)
        return scores

    def _guarded(self, guard: Guard, data: RankingData, baseline: Any) -> FloatArray:
        rows = self._filled(data)
        return guard.ranking_scores(Pair.of(self._baseline_scores(rows, baseline), self._trees(rows), rows.bounds))

    def _baseline_scores(self, data: RankingData, given: Any) -> FloatArray:
        """The scores of the baseline that the guard was fitted with, from the features if it is one of them."""
        kept = self.card["guard"]
        if kept["form"] is not None:
            return guard_scores(form_scores(kept["form"], kept["column"], data))
        if given is None:
            raise SurefootError(
                f"the model is guarded by the baseline {kept['baseline']}, which is not a feature; give its scores of "
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
        """Data without names that end before the model's last feature, filled up with zeros."""
        fewer = data.feature_names is None and data.features.shape[1] < self.card["data"]["features"]
        return self.align(data) if fewer else data

    def align(self, data: RankingData) -> RankingData:
        """The data with the model's features: those that it lacks are 0; more than the model has is an error."""
        first, width = self.card["data"]["first_feature"], self.card["data"]["features"]
        own = width - 1 if self._query_feature else width
        return widened(data, data.first_feature if first is None else first, own)

    @property
    def _query_feature(self) -> str | None:
        """The feature of the query that it was trained with, the last of its features."""
        spec = self.card.get("settings", {}).get("query_feature")
        return None if spec is None else str(spec)

    def by_index(self) -> Model:
        """The same model for features that are known by their column of a matrix, not by a number in a file."""
        return replace(self, card={**self.card, "data": {**self.card["data"], "first_feature": None}})

    def _validate_names(self, names: Sequence[str] | None) -> None:
        """Columns in another order than in training would give meaningless scores."""
        trained = self.card["data"]["feature_names"]
        if names and trained and list(names) != list(trained):
            raise SurefootError(
                f"the model was trained on the features {listed(trained)}, in this order; got {listed(names)}"
            )

    @cached_property
    def settings(self) -> Settings:
        """What the model was trained with."""
        return Settings(**self.card["settings"])

    @cached_property
    def booster(self) -> Any:
        """The engine's own object: the trees alone, without the guard."""
        engine = engine_of(self.engine)
        try:
            return engine.load(self.text)
        except (engine.error, ValueError):  # LightGBM reads its parameters as JSON
            raise SurefootError(f"the model is damaged: {self.engine} can't load its text; train it again") from None

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model and its card to a folder; the card last, so that a folder with a card is complete."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / CARD).unlink(missing_ok=True)
        text, file = self.text, MODEL_FILES[self.engine]
        if self.guard is not None:
            text, file = UNGUARDED + text, UNGUARDED_FILES[self.engine]
            self.guard.save(path / GUARD)
        write_text(path / file, text)
        card = {**self.card, "model": {"file": file, "blake2b": digest_of(text)}}
        write_text(path / CARD, json.dumps(plain(card), indent=2, ensure_ascii=False) + "\n")

    def __getstate__(self) -> dict[str, Any]:
        return {"engine": self.engine, "text": self.text, "card": self.card, "guard": self.guard}


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
    surefoot.errors.InputError: nowhere: is no folder of a trained model: no card.json in it
    """
    path = Path(folder)
    try:
        card = _read_card(path / CARD)
        engine, digest = card["engine"]["name"], card["model"]["blake2b"]
        guarded = card["model"]["file"] == UNGUARDED_FILES.get(engine)
        file = path / (UNGUARDED_FILES if guarded else MODEL_FILES)[engine]
        text = file.read_text("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(path, f"is no folder of a trained model: no {Path(error.filename).name} in it") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(path / CARD, "is not the card of a trained model; train it again") from None
    if digest_of(text) != digest:  # the engines trust what they read: a damaged file can end the process
        raise InputError(file, f"is not the model of {CARD} beside it, or damaged; train it again")
    guard = Guard.load(path / GUARD) if guarded else _old_guard(card)
    text = text.removeprefix(UNGUARDED)
    validate_text(engine, text, file)
    return Model(engine, text, card, guard)


def _read_card(path: Path) -> dict[str, Any]:
    """The card of a model; raises a KeyError, TypeError or ValueError if it lacks what a model needs."""
    card: dict[str, Any] = parse_json(path.read_text("utf-8"))
    _upgrade(card)
    data = card["data"]
    if not isinstance(data["features"], int) or not isinstance(data["first_feature"], int | None):
        raise ValueError
    _ = data["feature_names"]
    if "guard" in card and card["guard"]["form"] is not None and card["guard"]["column"] not in range(data["features"]):
        raise ValueError
    return card


def _old_guard(card: Mapping[str, Any]) -> Guard | None:
    """The guard of an older model, which was interpolated with its baseline by what its card says."""
    if INTERPOLATION not in card:
        return None
    kept = card[INTERPOLATION]
    return Guard("lean", kept["weight"], Scale(floor=kept["floor"]))


def _upgrade(card: dict[str, Any]) -> None:
    """Bring a card of an older model, which has no key ``settings``, to the present keys."""
    if "settings" not in card:
        pairs = dict(card.pop("lambda"))
        named = {"max_label": pairs.pop("top"), "objective_options": card.pop("options")}
        own = {key: card.pop(key) for key in ("objective", "alpha", "params")}
        cutoff = card["metric"].partition("@")[2]
        card["settings"] = {**own, **pairs, **named, **({"cutoff": int(cutoff)} if cutoff else {})}
    card["settings"].pop("baseline_weight", None)
    if "lean" in card:
        lean = card.pop("lean")
        kept = {key: lean[key] for key in ("feature", "floor", "weight")}
        card[INTERPOLATION] = {"baseline_weight": lean["share"], "column": lean["place"], **kept}
    if INTERPOLATION in card:
        kept = card[INTERPOLATION]
        if not all(type(kept[key]) in (int, float) for key in ("weight", "floor")):
            raise ValueError
        card["guard"] = {"baseline": f"feature:{kept['feature']}", "form": "feature", "column": kept["column"]}

"""Shards of a table: its columns, the queries of each worker, and models applied to one worker's rows.

A query belongs to the worker that the hash of its id names. So the frameworks' own shuffles move the rows, and no
process has a list of all queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot.errors import SurefootError, choose, listed
from surefoot.lambdas.metrics import is_empty
from surefoot.learn.baseline import BELOW_ALL, COLUMNS, Baselines
from surefoot.learn.data import KEY_BITS, ROLES, RankingData, query_keys
from surefoot.learn.models import Model
from surefoot.learn.validation import Validation
from surefoot.scores import FloatArray, Scores

FEATURE, SCORES, VALUES = "feature", "scores", "values"
ROW, SHARD = "__row", "__shard"
"""Columns that are added to tables: the order of their rows, which shuffles lose, and the shard of each."""

ROWS_OF_PART = 1 << 40
"""More rows than a part of a table has, so that rows are numbered through all parts without counting them."""

ROWS_AT_ONCE = 1 << 16
"""Rows whose features are converted at once."""


@dataclass(frozen=True, eq=False)
class Shard:
    """The rows of one worker: whole queries, in order, with their baselines."""

    data: RankingData
    baselines: Baselines

    @property
    def given(self) -> Any:
        """The baselines; by its name if the only one follows from the features, as a guarded model's does."""
        names, features = self.baselines.names, self.data.feature_names
        kind, _, feature = names[0].partition(":") if len(names) == 1 else ("", "", "")
        is_column = kind == "order" or (kind in COLUMNS and (not features or feature in features))
        return names[0] if is_column else self.baselines


@dataclass(frozen=True)
class Columns:
    """The columns of queries, labels, features and baselines.

    A baseline is ``feature:NAME`` (a feature that ranks), ``scores:NAME`` (a column with a score for each document, no
    feature) or ``values:NAME`` (a column with the baseline's metric on the document's query).

    >>> Columns.among(["qid", "label", "bm25", "links", "old"], baseline=["feature:bm25", "scores:old"]).features
    ('bm25', 'links')
    """

    query: str
    label: str
    features: tuple[str, ...]
    baselines: tuple[tuple[str, str], ...]
    vector: str | None = None
    """The column whose cells have all features, if they have no columns of their own."""

    @classmethod
    def among(
        cls,
        names: Sequence[str],
        query: str = "qid",
        label: str = "label",
        features: Sequence[str] | None = None,
        baseline: str | Sequence[str] | None = None,
    ) -> Columns:
        """The columns of a table with these names; all others but document ids are features."""
        if not all(isinstance(name, str) for name in names):
            raise SurefootError(f"the table's columns must be named by texts; they are {listed(names)}")
        given = [baseline] if isinstance(baseline, str) else list(baseline or ())
        baselines = tuple(_kind(one) for one in given)
        taken = {query, label, *(column for kind, column in baselines if kind != FEATURE)}
        rest = [name for name in names if name not in taken and name.lower() not in ROLES["document"]]
        chosen = tuple(rest if features is None else features)
        known = set(names)
        lacking = [name for name in (query, label, *chosen, *(name for _, name in baselines)) if name not in known]
        if lacking:
            raise SurefootError(f"the table has no column {lacking[0]!r}; it has {listed(names)}")
        if not chosen:
            raise SurefootError(f"the table has no column of features beside {listed(names)}")
        return cls(query, label, chosen, baselines)

    @property
    def needed(self) -> list[str]:
        """All columns, each once."""
        features = self.features if self.vector is None else [self.vector]
        baselines = [name for kind, name in self.baselines if kind != FEATURE or self.vector is None]
        return list(dict.fromkeys([self.query, self.label, *features, *baselines]))

    def shard(self, frame: Any) -> Shard:
        """The rows of a pandas frame as data: queries by key, each query's rows in the order of the table."""
        from pandas import factorize  # type: ignore[import-untyped]

        codes, ids = factorize(query_ids(frame[self.query]))
        by_key = np.argsort(query_keys(ids), kind="stable")
        rank = np.empty_like(by_key)
        rank[by_key] = np.arange(by_key.size)
        queries = rank[codes]
        order = np.lexsort((frame[ROW].to_numpy(), queries)) if ROW in frame else np.argsort(queries, kind="stable")
        data = RankingData(
            self._matrix(frame, order),
            _numbers(frame, [self.label], np.float32)[order, 0],
            np.concatenate([[0], np.cumsum(np.bincount(queries, minlength=ids.size))]),
            tuple(str(name) for name in np.asarray(ids)[by_key].tolist()),
            None,
            self.features,
            0,
        )
        found = [self._baseline(kind, name, frame, order, data) for kind, name in self.baselines]
        names = tuple(f"{kind}:{name}" if kind == FEATURE else name for kind, name in self.baselines)
        return Shard(data, Baselines(names, tuple(scores for scores, _ in found), tuple(known for _, known in found)))

    def _matrix(self, frame: Any, order: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        """The features of the rows in this order, some rows at a time, so that no second copy of all is made."""
        matrix = np.empty((order.size, len(self.features)), np.float32)
        for begin in range(0, order.size, ROWS_AT_ONCE):
            rows = slice(begin, begin + ROWS_AT_ONCE)
            matrix[rows] = self.matrix(frame.iloc[order[rows]])
        return matrix

    def matrix(self, frame: Any) -> npt.NDArray[np.float32]:
        """The features of all rows."""
        if self.vector is None:
            return _numbers(frame, self.features, np.float32)
        return np.asarray(np.stack(frame[self.vector].to_list()), np.float32)

    def _baseline(
        self, kind: str, name: str, frame: Any, order: npt.NDArray[np.intp], data: RankingData
    ) -> tuple[FloatArray | None, FloatArray | None]:
        """A baseline's scores of the documents, or its metric on the queries."""
        if kind == FEATURE and name in self.features:
            column = data.column(name).astype(np.float64)
        else:
            column = _numbers(frame, [name], np.float64)[order, 0]
        if kind == FEATURE:
            return np.where(np.isnan(column), BELOW_ALL, column), None
        if not np.isfinite(column).all():
            raise SurefootError(f"{data.source}: column {name!r} of a baseline must have finite numbers")
        if kind == SCORES:
            return column, None
        values = column[data.bounds[:-1]]
        differ = np.flatnonzero(column != values[data.query_of_row])
        if differ.size:
            query = data.queries[data.query_of_row[differ[0]]]
            raise SurefootError(
                f"{data.source}: column {name!r} must have one value per query; query {query} has several"
            )
        return None, values


def query_ids(column: Any) -> npt.NDArray[Any]:
    """The ids of a pandas column, which numpy can sort; a missing id is an error."""
    if bool(column.isna().any()):
        raise SurefootError(f"data: column {column.name!r} of queries has missing values")
    from pandas.api.types import infer_dtype  # type: ignore[import-untyped]

    ids = np.asarray(column.to_numpy())
    if ids.size and infer_dtype(ids) not in ("string", "integer", "floating"):
        raise SurefootError(f"data: column {column.name!r} of queries must hold numbers or texts, not both")
    return ids


def _kind(baseline: str) -> tuple[str, str]:
    kind, _, name = baseline.partition(":")
    if not name:
        raise SurefootError(f"a baseline on a cluster is feature:NAME, scores:NAME or values:NAME; got {baseline!r}")
    return choose(kind, (FEATURE, SCORES, VALUES), "a baseline on a cluster"), name


def _numbers(frame: Any, names: Sequence[str], kind: type) -> npt.NDArray[Any]:
    try:
        return np.asarray(frame[list(names)].to_numpy(dtype=kind, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise SurefootError(f"data: columns {listed(names)} must be numbers ({error})") from None


def shard_of(keys: npt.NDArray[np.int64], n_shards: int) -> npt.NDArray[np.int64]:
    """The shard of each query: ranges of keys, so that the shards in their order have all queries by key.

    >>> shard_of(query_keys(["a", "b", "c"]), 2).tolist()
    [1, 0, 0]
    """
    return np.asarray((keys >> (KEY_BITS - 32)) * n_shards >> 32)


def numbered(frame: Any, part: int, query: str, n_shards: int) -> Any:
    """A part of a table with the number and the shard of each row."""
    from pandas import factorize

    codes, ids = factorize(query_ids(frame[query]))
    shards = shard_of(query_keys(ids), n_shards)
    return frame.assign(**{ROW: part * ROWS_OF_PART + np.arange(len(frame)), SHARD: shards[codes]})


def split_data(data: RankingData, baselines: Baselines, n_shards: int) -> Iterator[Shard]:
    """The shards of data that one process holds."""
    by_key = np.argsort(data.keys, kind="stable")
    shards = shard_of(data.keys[by_key], n_shards)
    for shard in range(n_shards):
        queries = by_key[shards == shard]
        yield Shard(data.select(queries), baselines.select(data, queries))


def features_of(model: Model) -> list[str]:
    """The columns of a model's features; features without names have their numbers as names."""
    data = model.card["data"]
    first = data["first_feature"] or 0
    return list(data["feature_names"] or [str(first + index) for index in range(data["features"])])


def model_columns(model: Model, names: Sequence[str], query: str, vector: str | None = None) -> list[str]:
    """The columns, among these, that a prediction needs; a guarded model must see whole queries."""
    wanted = features_of(model) if vector is None else [vector]
    kept = model.card.get("guard", {})
    baseline = [kept["baseline"]] if model.guard is not None and kept["form"] is None else []
    needed = list(dict.fromkeys([*wanted, *([] if model.guard is None else [query]), *baseline]))
    missing = [name for name in needed if name not in names]
    if missing:
        raise SurefootError(f"the table lacks the model's columns {listed(missing)}; name its columns like them")
    return needed


def predict_rows(model: Model, frame: Any, query: str = "qid", vector: str | None = None) -> FloatArray:
    """The score of each row of a pandas frame, which has whole queries if the model is guarded."""
    model_columns(model, list(frame.columns), query, vector)
    features = Columns(query, "", tuple(features_of(model)), (), vector).matrix(frame)
    if model.guard is None or not len(frame):
        return model.predict(features)
    kept = model.card["guard"]
    baseline = None if kept["form"] else _numbers(frame, [kept["baseline"]], np.float64)[:, 0]
    return model.predict(features, query_ids(frame[query]), baseline)


def evaluate_shard(shard: Shard, model: Model, name: str) -> Scores | None:
    """The model beside its baselines on the queries of one shard; None if none of them counts."""
    settings, data = model.settings, shard.data
    if not len(data) or (settings.empty == "drop" and is_empty(data.labels, data.bounds).all()):
        return None
    scores = model.by_index().predict(data, baseline=shard.baselines)
    return Validation.of(settings, data, shard.baselines).scores(name, scores)


def concat_scores(parts: Iterable[Scores | None]) -> Scores:
    """The scores of all shards, in their order."""
    known = [part for part in parts if part is not None]
    if not known:
        raise SurefootError("no query has a relevant document")
    values = np.hstack([part.values for part in known])
    topics = tuple(topic for part in known for topic in part.topics)
    return replace(known[0], values=values, topics=topics) if len(known) > 1 else known[0]

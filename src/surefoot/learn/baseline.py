"""Baselines of a training set: the rankings to compare with, given by name, model or array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from surefoot.errors import InputError, SurefootError, choose, counted, listed
from surefoot.lambdas.metrics import QueryMetric
from surefoot.learn.data import RankingData
from surefoot.learn.model_files import model_scores, read_model
from surefoot.scores import VIRTUAL, FloatArray

Missing = Literal["error", "last"]
FORMS = ("feature:N", "-feature:N", "rank:N", "order", "run:FILE", "scores:FILE", "model:PATH")
"""The forms of a baseline's name."""
COLUMNS = ("feature", "-feature", "rank")
"""The forms that name a feature."""
BELOW_ALL = -1e300
"""The score of documents that a baseline does not rank."""


@dataclass(frozen=True, eq=False)
class Baselines:
    """The scores that each baseline gives to the documents, or only its metric on each query.

    ``scores[i]`` are the scores of baseline i, None if only ``metrics[i]``, one value for each query, is known.
    ``virtual`` is MEAN, MEDIAN or MAX if the baselines are combined to this one.
    """

    names: tuple[str, ...]
    scores: tuple[FloatArray | None, ...]
    metrics: tuple[FloatArray | None, ...]
    notes: tuple[str, ...] = ()
    virtual: str | None = None

    def combine(self, virtual: str | None) -> Baselines:
        """The baseline MEAN, MEDIAN or MAX of all, query by query (Dinçer, Ounis and Macdonald, ECIR 2014).

        The model in training is not one of them, so this is the leave-one-out form. With None, or a single baseline,
        nothing changes.

        >>> both = Baselines(("a", "b"), (None, None), (np.array([0.2, 0.4]), np.array([0.6, 0.4])))
        >>> both.combine("MEAN").names
        ('MEAN of a, b',)
        """
        if virtual is None or len(self.names) < 2:
            return self
        name = f"{choose(virtual, VIRTUAL, 'virtual_baseline')} of {listed(self.names, most=4)}"
        return replace(self, names=(name,), virtual=virtual)

    def values(self, metric: QueryMetric) -> FloatArray:
        """The metric of each baseline (rows) on each query."""
        found = [
            known if scores is None else metric(scores) for scores, known in zip(self.scores, self.metrics, strict=True)
        ]
        queries = metric.bounds.size - 1
        values = metric.fill_empty(np.stack(found)) if found else np.zeros((0, queries))  # type: ignore[arg-type]
        return values if self.virtual is None else VIRTUAL[self.virtual](values)[np.newaxis]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of names and scores."""
        digest = blake2b("\n".join(self.names).encode(), digest_size=20)
        for known in (*self.scores, *self.metrics):
            digest.update(b"none" if known is None else np.ascontiguousarray(known, dtype=np.float64).tobytes())
        return digest.hexdigest()

    def select(self, data: RankingData, queries: npt.ArrayLike) -> Baselines:
        """The baselines of some queries of their data; see `RankingData.select`."""
        documents, chosen = data.rows(queries), np.asarray(queries)
        return replace(
            self,
            scores=tuple(None if scores is None else scores[documents] for scores in self.scores),
            metrics=tuple(None if known is None else known[chosen] for known in self.metrics),
        )

    def followed_by(self, other: Baselines) -> Baselines:
        """The same baselines of the queries of both, one after the other."""
        if [scores is None for scores in self.scores] != [scores is None for scores in other.scores]:
            raise SurefootError("the baselines of the validation queries are not those of the training queries")
        return replace(
            self,
            scores=tuple(map(_concatenated, self.scores, other.scores)),
            metrics=tuple(map(_concatenated, self.metrics, other.metrics)),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
        )

    def ranking(self, user: str = "churn") -> FloatArray:
        """The scores of the only baseline; ``user`` needs its ranking."""
        if len(self.scores) != 1 or self.scores[0] is None:
            raise SurefootError(f"{user} needs one baseline that scores documents: a feature, a run, scores or a model")
        return self.scores[0]


def _concatenated(first: FloatArray | None, second: FloatArray | None) -> FloatArray | None:
    return None if first is None or second is None else np.concatenate([first, second])


def is_model(given: Any) -> bool:
    """Whether something scores documents."""
    return callable(getattr(given, "predict", None))


def is_known_everywhere(given: Any) -> bool:
    """Whether a baseline is known for other queries too, such as ``feature:25``."""
    if given is None or isinstance(given, str | Path):
        return given is None or not str(given).startswith("scores:")
    if is_model(given):
        return True
    parts = given.values() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else ()
    return bool(parts) and all(is_known_everywhere(part) for part in parts)


def baseline_for(queries: str, own: Any, training: Any) -> Any:
    """The baseline of queries outside training: their own, or the training baseline if it is known there.

    >>> baseline_for("validation", None, "feature:25")
    'feature:25'
    """
    if own is None and not is_known_everywhere(training):
        raise SurefootError(
            f"the baseline is given for the training queries only; give that of the {queries} queries too"
        )
    return training if own is None else own


def baselines_of(given: Any, data: RankingData, missing: Missing = "error") -> Baselines:
    """Read baselines.

    Parameters
    ----------
    given
        None for no baseline; a list or dictionary for several. A text names one: ``feature:25`` (its number in the
        file, or its name), ``-feature:25`` (the lower the better), ``rank:25`` (a feature that holds ranks from 1 on;
        a document of rank 0 was not ranked), ``order`` (that of the rows), ``run:FILE`` (a TREC run, matched by query
        and document id), ``scores:FILE`` (one score per document, one per line), ``model:PATH`` (a folder that
        `train` wrote, or a model file of LightGBM or XGBoost). A model or Booster scores the documents. An array has
        a score for each document, or a metric value for each query; a matrix has a row for each baseline.
    data : RankingData
        The documents to be scored.
    missing : {"error", "last"}
        Whether a document that a run lacks is an error, or ranks below all that the run has.

    Returns
    -------
    Baselines

    Examples
    --------
    >>> from surefoot.lambdas.metrics import Metric
    >>> data = RankingData.of([[1.0], [2.0], [3.0]], [0, 1, 0], qid=["a", "a", "b"])
    >>> baselines_of("feature:0", data).values(Metric(cutoff=10).bind(data.labels, data.bounds))
    array([[1., 0.]])
    """
    choose(missing, ("error", "last"), "missing")
    if isinstance(given, Baselines):
        return given
    if given is None:
        return Baselines((), (), ())
    if isinstance(given, Mapping):
        parts = [_renamed(baselines_of(one, data, missing), str(name)) for name, one in given.items()]
    elif isinstance(given, str | Path):
        parts = [_named(str(given), data, missing)]
    elif is_model(given):
        parts = [_of_scores("model", model_scores(given, data))]
    elif isinstance(given, Sequence) and given and _is_one(given[0]):
        parts = [
            baselines_of(one, data, missing)
            if isinstance(one, str | Path | Mapping)
            else _renamed(baselines_of(one, data, missing), f"baseline{index + 1}")
            for index, one in enumerate(given)
        ]
    else:
        parts = [_array(given, data)]
    return _together(parts)


def _is_one(given: Any) -> bool:
    """Whether something is a whole baseline, not a number of one."""
    return isinstance(given, str | Path | np.ndarray | Mapping) or is_model(given)


def _together(parts: Sequence[Baselines]) -> Baselines:
    names = tuple(name for part in parts for name in part.names)
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise SurefootError(f"baseline {listed(doubles)} is given more than once")
    return Baselines(
        names,
        tuple(scores for part in parts for scores in part.scores),
        tuple(known for part in parts for known in part.metrics),
        tuple(note for part in parts for note in part.notes),
    )


def _renamed(part: Baselines, name: str) -> Baselines:
    names = (name,) if len(part.names) == 1 else tuple(f"{name}.{own}" for own in part.names)
    return replace(part, names=names)


def _array(given: Any, data: RankingData) -> Baselines:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise SurefootError(
            f"a baseline is one of {', '.join(FORMS)}, a model or an array; got {given!r:.60}"
        ) from None
    if not np.isfinite(values).all():
        raise SurefootError("a baseline's scores must be finite numbers")
    rows = data.labels.size
    if values.ndim == 1 and values.size == rows:
        return Baselines(("baseline",), (values,), (None,))
    matrix = values[None] if values.ndim == 1 else values
    if matrix.ndim == 2 and matrix.shape[1] == len(data):
        names = ("baseline",) if matrix.shape[0] == 1 else tuple(f"baseline{i + 1}" for i in range(matrix.shape[0]))
        return Baselines(names, (None,) * len(names), tuple(matrix))
    if matrix.ndim == 2 and values.ndim == 2 and matrix.shape[1] == rows:
        names = tuple(f"baseline{i + 1}" for i in range(matrix.shape[0]))
        return Baselines(names, tuple(matrix), (None,) * len(names))
    raise SurefootError(
        f"a baseline needs a score for each of {counted(rows, 'document')} or a value for each of "
        f"{counted(len(data), 'query')}; got an array of shape {values.shape}"
    )


def _named(name: str, data: RankingData, missing: Missing) -> Baselines:
    if name == "order":
        return _of_scores(name, -np.arange(data.labels.size, dtype=np.float64))
    form = feature_form(name, data)
    if form is not None:
        return _of_scores(name, form_scores(*form, data))
    kind, _, rest = name.partition(":")
    if not rest or kind not in ("run", "scores", "model"):
        known = "feature" if name in (data.feature_names or ()) else "run" if Path(name).is_file() else ""
        hint = f" (did you mean {known}:{name}?)" if known else ""
        raise SurefootError(f"a baseline is given as {', '.join(FORMS)}; got {name!r}{hint}")
    notes: tuple[str, ...] = ()
    if kind == "run":
        scores, notes = _run_scores(rest, data, missing)
    elif kind == "scores":
        scores = _score_file(rest, data)
    else:
        scores = model_scores(read_model(rest), data)
    return _of_scores(Path(rest).name, scores, notes)


def _of_scores(name: str, scores: FloatArray, notes: tuple[str, ...] = ()) -> Baselines:
    return Baselines((name,), (scores,), (None,), notes)


def feature_form(given: Any, data: RankingData) -> tuple[str, int] | None:
    """The form of the only baseline if it follows from the features, so that it is known wherever the model ranks.

    The form is ``feature``, ``-feature``, ``rank`` or ``order``, and the number is that of the column, counted from 0.

    >>> feature_form(["rank:1"], RankingData.of([[1.0, 2.0]], [0], qid=["a"])), feature_form("run:bm25.run", None)
    (('rank', 1), None)
    """
    only = list(given.values()) if isinstance(given, Mapping) else given
    if isinstance(only, list | tuple) and len(only) == 1:
        only = only[0]
    if not isinstance(only, str):
        return None
    kind, _, feature = only.partition(":")
    if only == "order":
        return only, 0
    return (kind, data.column_index(feature)) if kind in COLUMNS and feature else None


def form_scores(form: str, column: int, data: RankingData) -> FloatArray:
    """The scores of a baseline of such a form, the higher the better; a document without a value or rank comes last."""
    if form == "order":
        return (data.bounds[data.query_of_row] - np.arange(data.labels.size)).astype(np.float64)
    values = data.column_at(column).astype(np.float64)
    broken = values[(values % 1 > 0) | (values < 0)] if form == "rank" else values[:0]
    if broken.size:
        raise SurefootError(f"rank:N needs whole ranks from 1 on; got {broken[0]:g}: give feature:N instead")
    unknown = np.isnan(values) | ((values < 1) if form == "rank" else False)
    return np.where(unknown, BELOW_ALL, values if form == "feature" else -values)


def guard_scores(scores: FloatArray) -> FloatArray:
    """A baseline's scores for guards: minus infinity for documents that it does not rank."""
    return np.where(scores <= BELOW_ALL, -np.inf, scores)


def _run_scores(path: str, data: RankingData, missing: Missing) -> tuple[FloatArray, tuple[str, ...]]:
    """The run's score of each row, matched by the ids of query and document."""
    import polars

    from surefoot.io.trec import read_run

    if data.documents is None:
        raise SurefootError(f"{data.source} has no document ids (`# docid = ...`), so run {path} can't be matched")
    run = read_run(path)
    queries = polars.Series(data.queries, dtype=polars.String).gather(data.query_of_row)
    rows = polars.DataFrame({"topic": queries, "document": data.documents})
    found = rows.join(run.to_frame(), on=["topic", "document"], how="left", maintain_order="left")["score"]
    unknown = found.is_null()
    lacking = int(unknown.sum())
    if not lacking:
        return found.to_numpy().astype(np.float64), ()
    topic, document = rows.row(int(unknown.arg_max() or 0))
    known = topic in set(run.topics)
    what = f"document {document} of query {topic}" if known else f"query {topic}"
    if missing == "error":
        raise InputError(
            path,
            f"lacks {what} ({counted(lacking, 'document')} in all); complete it, or rank the missing documents last",
        )
    note = f"{path} lacks {counted(lacking, 'document')}, ranked below all that it has"
    return found.fill_null(BELOW_ALL).to_numpy().astype(np.float64), (note,)


def _score_file(path: str, data: RankingData) -> FloatArray:
    from surefoot.io.files import read_bytes

    lines = read_bytes(path).splitlines()
    if len(lines) != data.labels.size:
        raise InputError(path, f"holds {counted(len(lines), 'score')} for {counted(data.labels.size, 'document')}")
    scores: npt.NDArray[np.float64] = np.empty(len(lines))
    for index, text in enumerate(lines):
        try:
            scores[index] = float(text)
        except ValueError:
            scores[index] = np.nan
        if not np.isfinite(scores[index]):
            raise InputError(path, f"expected a finite number, found {text.decode(errors='replace')!r}", index + 1)
    return scores

"""Training and evaluating on a cluster: the same functions for every framework.

Frameworks differ in how rows reach the workers, and in how a function starts on all of them: a `Cluster` does both.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from surefoot.cluster.shards import Columns, Shard, concat_scores, evaluate_shard, features_of
from surefoot.cluster.worker import Member, WorkerRequest, combine, train_worker
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings
from surefoot.learn.training import Trained
from surefoot.scores import Scores

Found = TypeVar("Found")
Work = Callable[[Member, Callable[[], Sequence[Shard]]], Found]
"""A function that runs on each worker; it loads its shard of each table."""


class Cluster(ABC):
    """Workers, and the tables of their framework."""

    source: str
    """What a model's card calls the table."""

    @abstractmethod
    def read(self, path: str) -> Any:
        """The table of a folder of Parquet files, at a path or address that all workers see."""

    @abstractmethod
    def run(self, work: Work[Found], tables: Sequence[Any], columns: Columns, together: bool) -> list[Found]:
        """Bring each query's rows to its worker and run the function there; the results in the order of the workers.

        ``together``: the workers run at the same time, connected by XGBoost's collective.
        """

    def train(
        self,
        frame: Any,
        baseline: str | Sequence[str] | None = None,
        settings: Settings | None = None,
        *,
        valid: Any = None,
        query: str = "qid",
        label: str = "label",
        features: Sequence[str] | None = None,
        **options: Any,
    ) -> Trained:
        """Train a ranker on the workers of a cluster, as `surefoot.learn.train` does on one machine.

        Rows may come in any order. The rows of a query go to one worker, in the order of the table.

        Parameters
        ----------
        frame : table of the framework, or path
            One row per document: a table, or the path or address (s3://...) of a folder of Parquet files.
        baseline : str or list of str, optional
            ``feature:NAME``, ``scores:NAME`` or ``values:NAME``; see `surefoot.cluster.shards.Columns`.
        settings : Settings, optional
            The settings of the training; the engine is XGBoost.
        valid : table or path, optional
            Queries to choose the best iteration on.
        query, label : str
            The columns of query ids and labels.
        features : list of str, optional
            The columns of features; by default all other columns.
        **options
            ``init_model``, a `Model` to which trees are added; ``callbacks`` of XGBoost, run on each worker;
            ``checkpoint``, a file in a folder that all workers see, and ``checkpoint_every``, seconds between two
            checkpoints. The first worker saves the state of the training there. The same training resumes from it to
            the same model; other rows, settings or workers are refused. Remove the file when the model is saved.

        Returns
        -------
        Trained
        """
        tables = [self._table(one) for one in (frame, valid) if one is not None]
        columns = Columns.among(_names(tables[0]), query, label, features, baseline)
        return self.train_columns(tables, columns, settings, **options)

    def train_columns(
        self, tables: Sequence[Any], columns: Columns, settings: Settings | None, **options: Any
    ) -> Trained:
        """Train on these columns of the training queries, and of the validation queries if there is a second table."""
        request = WorkerRequest(settings or Settings(engine="xgboost"), **options)
        return combine(self.run(partial(train_worker, request), tables, columns, together=True), self.source)

    def scores(
        self,
        model: Model,
        frame: Any,
        baseline: str | Sequence[str] | None = None,
        name: str = "ranker",
        *,
        query: str = "qid",
        label: str = "label",
    ) -> Scores:
        """The model beside its baselines, query by query. Only this matrix leaves the workers.

        Parameters
        ----------
        model : Model
            The model to evaluate.
        frame : table of the framework, or path
            One row per document.
        baseline : str or list of str, optional
            As in `train`.
        name : str
            The model's name among the systems.
        query, label : str
            The columns of query ids and labels.

        Returns
        -------
        Scores
        """
        table = self._table(frame)
        columns = Columns.among(_names(table), query, label, features_of(model), baseline)
        return concat_scores(self.run(partial(_evaluate, model, name), [table], columns, together=False))

    def _table(self, frame: Any) -> Any:
        return self.read(os.fspath(frame)) if isinstance(frame, str | os.PathLike) else frame


def _names(table: Any) -> list[str]:
    return list(table.columns() if callable(table.columns) else table.columns)


def _evaluate(model: Model, name: str, member: Member, load: Callable[[], Sequence[Shard]]) -> Scores | None:
    (shard,) = load()
    return evaluate_shard(shard, model, name)

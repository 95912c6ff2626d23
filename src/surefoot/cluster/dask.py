"""Training, ranking and evaluating on a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from operator import getitem
from typing import Any

import numpy as np

from surefoot.cluster.columns import Columns, Part, query_ids
from surefoot.cluster.evaluation import by_row, evaluated, features_of, predicted, together
from surefoot.cluster.partitioning import Cut, cut
from surefoot.cluster.worker import ELSEWHERE, Outcome, Plan, finished, reason_of, start_tracker, take_part
from surefoot.errors import SurefootError, listed
from surefoot.learn.baseline import Baselines, Missing, baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model
from surefoot.learn.training import Settings, Trained
from surefoot.scores import Scores

PATIENCE = 30
"""Seconds that a scheduler has to answer."""

GLANCE = 2.0
"""Seconds between two looks at whether all workers are still there."""

REASON = 5.0
"""Seconds that a worker has to tell why it stopped, once another did."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the cluster whose scheduler has this address, as tcp://10.0.0.1:8786."""
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise SurefootError(f"clusters need more packages: pip install 'surefoot[cluster]' (no {error.name})") from None
    connect: Any = distributed.Client
    try:
        client = connect(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise SurefootError(f"no Dask scheduler answers at {address} ({error})") from None
    with client:
        yield client


def train(
    client: Any,
    frame: Any,
    settings: Settings,
    baseline: str | Sequence[str] | None = None,
    valid: Any = None,
    *,
    query: str = "qid",
    label: str = "label",
    features: Sequence[str] | None = None,
    init_model: Model | None = None,
    callbacks: Sequence[Any] = (),
) -> Trained:
    """Train a ranker on all workers of a cluster, as `surefoot.learn.training.train` does on one machine.

    A row of ``frame`` is a document; ``baseline`` and the columns are as in `surefoot.cluster.columns.Columns`. Rows
    may come in any order: each query's go to one worker, in the order of the frame, and that they all arrived is
    checked. The frame is read twice; persist it if that is slow. ``callbacks`` are XGBoost's, run on each worker::

        trained = train(Client("scheduler:8786"), frame, Settings("ucro", 2, engine="xgboost"), "feature:bm25")
        trained.model.save("model")
    """
    columns = Columns.among(list(frame.columns), query, label, features, baseline)
    workers = _workers(client)
    cuts = [None if table is None else _cut(client, table, columns, len(workers)) for table in (frame, valid)]
    plan = Plan(settings, cuts[0], cuts[1], None if init_model is None else init_model.text, callbacks)  # type: ignore[arg-type]
    parts = _parts(client, frame, columns, plan.cut, workers)
    held = None if plan.valid is None else _parts(client, valid, columns, plan.valid, workers)
    return finished(train_parts(client, plan, workers, parts, held), "a Dask table")


def train_data(
    client: Any,
    settings: Settings,
    data: RankingData,
    baseline: Any = None,
    valid: RankingData | None = None,
    missing: Missing = "error",
) -> Trained:
    """Train on all workers from data that this process holds, and baselines of any kind that one machine takes."""
    workers = _workers(client)
    cuts, parts = [], []
    for one in (data, valid):
        if one is not None:
            cuts.append(cut(np.arange(len(one)), one.sizes, len(workers)))
            slices = _slices(one, baselines_of(baseline, one, missing), cuts[-1])
            # Under a name of its own: that of the same data, of a training before, may be let go at any moment.
            parts.append(
                [client.scatter(part, [worker], hash=False) for part, worker in zip(slices, workers, strict=True)]
            )
    plan = Plan(settings, cuts[0], cuts[1] if valid is not None else None)
    trained = finished(train_parts(client, plan, workers, *parts), data.source)
    card = dict(trained.model.card)
    card["data"] = {**card["data"], "fingerprint": data.fingerprint}
    return replace(trained, model=replace(trained.model, card=card))


def predict(model: Model, frame: Any) -> Any:
    """The score of each document, computed where its row is, once Dask is asked to."""
    return frame[features_of(by_row(model))].map_partitions(_predicted, model, meta=("score", np.float64))


def scores(
    client: Any,
    model: Model,
    frame: Any,
    baseline: str | Sequence[str] | None = None,
    name: str = "ranker",
    *,
    query: str = "qid",
    label: str = "label",
) -> Scores:
    """The model beside its baselines, query by query. Only this matrix leaves the workers."""
    columns = Columns.among(list(frame.columns), query, label, features_of(model), baseline)
    workers = _workers(client)
    parts = _parts(client, frame, columns, _cut(client, frame, columns, len(workers)), workers)
    return together(_results(client, client.map(evaluated, parts, model=model, name=name, pure=False), workers))


def train_parts(
    client: Any, plan: Plan, workers: Sequence[str], parts: Sequence[Any], valid: Sequence[Any] | None = None
) -> list[Outcome]:
    """Train, worker i holding part i. The workers are locked: two trainings that share some would wait forever."""
    from distributed import MultiLock

    with MultiLock(list(workers)):
        host = client.submit(_start_tracker, len(workers), workers=[workers[0]], pure=False)
        (tracker,) = _results(client, [host], workers)
        members = [
            client.submit(
                _take_part, plan, tracker, member, parts[member], None if valid is None else valid[member],
                workers=[worker], allow_other_workers=False, pure=False,
            )
            for member, worker in enumerate(workers)
        ]  # fmt: skip
        return _results(client, members, workers)


def _workers(client: Any) -> list[str]:
    workers = sorted(client.nthreads())
    if not workers:
        raise SurefootError("the Dask cluster has no workers; start some, or wait for them")
    return workers


def _cut(client: Any, frame: Any, columns: Columns, parts: int) -> Cut:
    from dask.delayed import delayed

    sizes = [delayed(_sizes)(piece) for piece in frame[[columns.query]].to_delayed()]
    found = [pair for pair in _results(client, client.compute(sizes), _workers(client)) if pair[0].size]
    if not found:
        raise SurefootError("the table has no rows")
    return cut(np.concatenate([ids for ids, _ in found]), np.concatenate([counts for _, counts in found]), parts)


def _sizes(piece: Any) -> tuple[Any, Any]:
    return np.unique(query_ids(piece.iloc[:, 0]), return_counts=True)


def _parts(client: Any, frame: Any, columns: Columns, cut: Cut, workers: Sequence[str]) -> list[Any]:
    """Bring each query's rows to its worker. Pieces come in the order of the frame, so rows stay in it too."""
    from dask.delayed import delayed

    pieces = client.compute([delayed(_split)(piece, columns, cut) for piece in frame[columns.needed].to_delayed()])
    parts = [
        client.submit(
            _assembled, columns, [client.submit(getitem, piece, part, pure=False) for piece in pieces],
            workers=[worker], allow_other_workers=False, pure=False,
        )
        for part, worker in enumerate(workers)
    ]  # fmt: skip
    _until_done(client, parts, workers)
    return parts


def _split(piece: Any, columns: Columns, cut: Cut) -> list[Any]:
    places = cut.place(query_ids(piece[columns.query]))
    return [piece[places == part] for part in range(cut.parts)]


def _assembled(columns: Columns, pieces: Sequence[Any]) -> Part:
    import pandas  # type: ignore[import-untyped]

    return columns.part(pandas.concat(pieces))


def _slices(data: RankingData, baselines: Baselines, cut: Cut) -> Iterator[Part]:
    places = cut.place(np.arange(len(data)))
    for part in range(cut.parts):
        queries = np.flatnonzero(places == part)
        rows = np.isin(data.query_of_row, queries)
        yield Part(
            data.select(queries),
            replace(
                baselines,
                rows=tuple(None if one is None else one[rows] for one in baselines.rows),
                reached=tuple(None if one is None else one[queries] for one in baselines.reached),
            ),
        )


def _start_tracker(workers: int) -> dict[str, Any]:
    from distributed import get_worker
    from distributed.comm.addressing import get_address_host

    return start_tracker(workers, get_address_host(get_worker().address))


def _take_part(plan: Plan, tracker: Any, member: int, part: Part, valid: Part | None) -> Outcome:
    from distributed import get_worker

    return take_part(plan, tracker, member, part, valid, get_worker().state.nthreads)


def _predicted(frame: Any, model: Model) -> Any:
    return frame.assign(score=predicted(model, frame))["score"]


def _results(client: Any, futures: Sequence[Any], workers: Sequence[str]) -> list[Any]:
    _until_done(client, futures, workers)
    return list(client.gather(list(futures)))


def _until_done(client: Any, futures: Sequence[Any], workers: Sequence[str]) -> None:
    """Wait for all, but no longer than until one fails or a worker is lost: the others would wait for it forever."""
    lost: set[str] = set()
    while not lost and any(future.status == "pending" for future in futures):
        _glance(futures)
        lost = {*workers} - {*client.nthreads()}
        if any(future.status not in ("pending", "finished") for future in futures):
            _until_told(futures)
            break
    errors = _errors(futures)
    if not lost and all(future.status == "finished" for future in futures):
        return
    client.cancel(list(futures))
    mistakes = sorted((e for e in errors if isinstance(e, SurefootError)), key=_told_elsewhere)
    if mistakes:
        raise mistakes[0]
    reason = f"lost {listed(sorted(lost))}" if lost else f"failed on a worker ({reason_of(errors)})"
    raise SurefootError(f"the cluster {reason}; no model was made: train again") from next(iter(errors), None)


def _until_told(futures: Sequence[Any]) -> None:
    """Whoever is to blame may tell a little later than those who stopped because of it."""
    end = time.monotonic() + REASON
    while time.monotonic() < end and any(future.status == "pending" for future in futures):
        if any(isinstance(error, SurefootError) and not _told_elsewhere(error) for error in _errors(futures)):
            return
        _glance(futures)


def _errors(futures: Sequence[Any]) -> list[Any]:
    return [future.exception() for future in futures if future.status == "error"]


def _told_elsewhere(error: Any) -> bool:
    return str(error) == ELSEWHERE


def _glance(futures: Sequence[Any]) -> None:
    import distributed

    wait: Any = distributed.wait
    pending = [future for future in futures if future.status == "pending"]
    with suppress(TimeoutError, CancelledError):
        wait(pending, timeout=GLANCE, return_when="FIRST_COMPLETED")

"""Waiting for results that Dask workers compute together, so that the loss of one stops all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from surefoot.cluster.training import failure_reason, is_secondary
from surefoot.errors import SurefootError, listed

POLL_EVERY = 2.0
"""Seconds between two checks that all workers are still there."""

REASON_TIMEOUT = 5.0
"""Seconds that a worker has to report why it stopped, once another did."""

RESTART_TIMEOUT = 60
"""Seconds that a restarted worker has to come back."""


def wait(client: Any, futures: Sequence[Any], workers: Sequence[str]) -> None:
    """Wait for all, or until one fails or a worker is lost, for which the others would wait forever."""
    lost: set[str] = set()
    while not lost and any(future.status == "pending" for future in futures):
        _poll(futures)
        lost = {*workers} - {*client.nthreads()}
        if any(future.status not in ("pending", "finished") for future in futures):
            _wait_for_reason(futures)
            break
    errors = _errors(futures)
    if not lost and all(future.status == "finished" for future in futures):
        return
    client.cancel(list(futures))
    _restart_waiting(client, futures, workers)
    mistakes = sorted((e for e in errors if isinstance(e, SurefootError)), key=is_secondary)
    if mistakes:
        raise mistakes[0]
    reason = f"lost {listed(sorted(lost))}" if lost else f"failed on a worker ({failure_reason(errors)})"
    raise SurefootError(f"the cluster {reason}; there is no model: train again") from next(iter(errors), None)


def _restart_waiting(client: Any, futures: Sequence[Any], workers: Sequence[str]) -> None:
    """Restart workers that wait for a lost one: XGBoost's collective operations have no timeout."""
    keys, end = {future.key for future in futures}, time.monotonic() + REASON_TIMEOUT
    while True:
        alive = [worker for worker in workers if worker in client.nthreads()]
        found = client.run(_executing, keys, workers=alive, on_error="ignore")
        waiting = [worker for worker, is_executing in found.items() if is_executing]
        if not waiting:
            return
        if time.monotonic() > end:
            break
        time.sleep(POLL_EVERY)
    with suppress(ValueError):  # workers without a nanny can't be restarted
        client.restart_workers(waiting, timeout=RESTART_TIMEOUT)


def _executing(keys: set[str], dask_worker: Any) -> bool:
    return any(task.key in keys for task in dask_worker.state.executing)


def _wait_for_reason(futures: Sequence[Any]) -> None:
    """The worker that failed first may report a little later than those that stopped because of it."""
    end = time.monotonic() + REASON_TIMEOUT
    while time.monotonic() < end and any(future.status == "pending" for future in futures):
        if any(isinstance(error, SurefootError) and not is_secondary(error) for error in _errors(futures)):
            return
        _poll(futures)


def _errors(futures: Sequence[Any]) -> list[Any]:
    return [future.exception() for future in futures if future.status == "error"]


def _poll(futures: Sequence[Any]) -> None:
    import distributed

    wait_for: Any = distributed.wait
    pending = [future for future in futures if future.status == "pending"]
    with suppress(TimeoutError, CancelledError):
        wait_for(pending, timeout=POLL_EVERY, return_when="FIRST_COMPLETED")

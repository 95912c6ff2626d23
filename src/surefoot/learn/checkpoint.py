"""Requests and checkpoints of trainings.

A request is everything that defines a computation, so that a stored result is only reused for the same request. A
checkpoint is one file, written atomically, from which a training resumes to the same model.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot._version import __version__
from surefoot.errors import InputError, listed
from surefoot.io.atomic import digest_of, remove, write_text
from surefoot.io.files import parse_json
from surefoot.io.shapes import fits
from surefoot.results import plain

if TYPE_CHECKING:
    from surefoot.learn.baseline import Baselines
    from surefoot.learn.run import Run

Request = Mapping[str, Any]
KEY_SIZE = 12

EVERY = 120.0
"""Seconds between checkpoints."""


def normalise_request(request: Request) -> dict[str, Any]:
    """The request as JSON keeps it, to compare it with one that was read from a file.

    >>> normalise_request({"alphas": (0, 1.5)})
    {'alphas': [0, 1.5]}
    """
    return dict(json.loads(json.dumps(plain(request))))


def request_text(request: Request) -> str:
    """The canonical JSON text of a request."""
    return json.dumps(plain(request), sort_keys=True)


def request_key(request: Request) -> str:
    """The hash of a request, under which its result is stored.

    >>> request_key({"alpha": 1.0}) == request_key({"alpha": 1.0}), request_key({"alpha": 1.0}) == request_key({})
    (True, False)
    """
    return digest_of(request_text(request), KEY_SIZE)


def array_key(values: npt.NDArray[Any]) -> str:
    """The hash of an array, which stands for it in a request."""
    return digest_of(np.ascontiguousarray(values).tobytes(), KEY_SIZE)


def refuse_other_request(path: object, stored: Request, expected: Request, advice: str) -> None:
    """Raise an error that names the fields in which a stored request differs from the expected one.

    >>> refuse_other_request("model", {"alpha": 1, "seed": 0}, {"alpha": 2, "seed": 0}, "name another folder")
    Traceback (most recent call last):
    surefoot.errors.InputError: model: belongs to a training with another alpha; name another folder
    """
    other = [name for name in sorted({*expected, *stored}) if expected.get(name) != stored.get(name)]
    if other:
        raise InputError(path, f"belongs to a training with another {listed(other)}; {advice}")


def request_of(run: Run, baselines: Baselines, weight: Any) -> dict[str, Any]:
    """Everything that any training depends on, as JSON keeps it."""
    return normalise_request({
        **run.settings.identity(),
        "version": [__version__, run.engine.version],
        "training data": run.data.fingerprint,
        "baseline": baselines.fingerprint,
        "weight": None if weight is None else array_key(weight),
        "init_model": run.inputs.init_model is not None,
        "categorical_feature": str(run.inputs.categorical_feature),
    })  # fmt: skip


@dataclass(frozen=True)
class Stage:
    """A boosted model, complete or not: its text, the measures of each iteration, the objective's estimates."""

    model: str = ""
    history: list[dict[str, float]] = field(default_factory=list)
    state: dict[str, float] = field(default_factory=dict)


def _is_number(value: object) -> bool:
    """Whether a value may be a measure of an iteration, which may be undefined or infinite."""
    return isinstance(value, float) or (type(value) is int and fits(value, float))


STAGE = {"model": str, "history": [{str: _is_number}], "state": {str: _is_number}}
"""The shape of a stage in a file."""


@dataclass
class Checkpoint:
    """Saves a training in one file: its complete bags, and the state of the current one. Without a path, nothing.

    ``request`` is everything that the model depends on; a file of another request is refused.
    """

    path: Path | None
    request: Mapping[str, Any]
    every: float = EVERY
    bags: list[Stage] = field(default_factory=list)
    current: Stage = field(default_factory=Stage)
    _saved: float = field(default_factory=time.monotonic)

    @classmethod
    def begin(cls, path: Path | None, request: Mapping[str, Any], every: float, resume: bool) -> Checkpoint:
        """The checkpoint of a training that begins or, with ``resume``, goes on."""
        found = cls(path, request, every)
        if path is not None and resume and path.exists():
            found._load(path)
        elif path is not None:
            remove(path)
        return found

    @property
    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return self.path is not None and time.monotonic() - self._saved >= self.every

    def save(self, current: Stage) -> None:
        """Write the complete bags and the current one."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = {"request": self.request, "bags": [asdict(bag) for bag in self.bags], **asdict(current)}
        text = json.dumps(content)
        write_text(self.path, f"{digest_of(text)}\n{text}\n")
        self._saved = time.monotonic()

    def finish_bag(self, bag: Stage) -> None:
        """Keep a complete bag, and begin the next."""
        self.bags.append(bag)
        self.current = Stage()
        self.save(self.current)

    def _load(self, path: Path) -> None:
        """Load the state that an earlier run saved; one with other data or settings is refused."""
        from surefoot.learn.model_files import validate_text

        digest, _, text = path.read_text("utf-8", errors="replace").strip().partition("\n")
        saved: Any = parse_json(text) if digest == digest_of(text) else None
        if not fits(saved, {"request": dict, "bags": [STAGE], **STAGE}):
            raise InputError(path, "is damaged, or no checkpoint of a training; remove it and train again")
        refuse_other_request(path, saved.pop("request"), self.request, "give the same, or remove it and train again")
        stages = [Stage(**bag) for bag in (*saved.pop("bags"), saved)]
        for stage in stages:
            if stage.history:  # the engine trusts the text
                validate_text(self.request.get("engine", ""), stage.model, path)
        *self.bags, self.current = stages

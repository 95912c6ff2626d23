"""Checkpoints of a training: one file, written whole, from which a killed training goes on to the same model."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from surefoot.errors import InputError
from surefoot.io.atomic import digest_of, write_text

EVERY = 120.0
"""Seconds between checkpoints."""


@dataclass(frozen=True)
class Checkpoint:
    """A training that is not finished: the trees so far, what each brought, and what the objective estimated."""

    plan: Mapping[str, Any]
    model: str
    history: list[dict[str, float]]
    state: dict[str, float]


@dataclass
class Keeper:
    """Keeps checkpoints of one training in one file."""

    path: Path
    plan: Mapping[str, Any]
    every: float = EVERY
    _last: float = field(default_factory=time.monotonic)

    @property
    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return time.monotonic() - self._last >= self.every

    def save(self, model: str, history: list[dict[str, float]], state: dict[str, float]) -> None:
        """Write a checkpoint in place of the last one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(Checkpoint(dict(self.plan), model, history, state)))
        write_text(self.path, f"{digest_of(text)}\n{text}\n")
        self._last = time.monotonic()

    def load(self) -> Checkpoint | None:
        """The last checkpoint, if there is one. That of a training with other data or settings is refused."""
        try:
            digest, _, text = self.path.read_text("utf-8", errors="replace").strip().partition("\n")
        except FileNotFoundError:
            return None
        if digest != digest_of(text):
            raise InputError(self.path, "is damaged, or no checkpoint of a training; remove it and train anew")
        kept = Checkpoint(**json.loads(text))
        mine = json.loads(json.dumps(dict(self.plan)))
        other = [key for key in sorted({*mine, *kept.plan}) if mine.get(key) != kept.plan.get(key)]
        if other:
            raise InputError(
                self.path,
                f"belongs to a training with another {', '.join(other)}; give the same, or remove it and train anew",
            )
        return kept

    def remove(self) -> None:
        """Begin anew: what an earlier training left is of no use."""
        self.path.unlink(missing_ok=True)

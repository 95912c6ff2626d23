"""The checkpoint of a training: one file, written atomically, from which it resumes to the same model."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from surefoot.errors import InputError
from surefoot.io.atomic import digest_of, remove, write_text
from surefoot.io.json_text import parse_json
from surefoot.learn.requests import refuse_other_request

EVERY = 120.0
"""Seconds between checkpoints."""


@dataclass(frozen=True)
class Stage:
    """A boosted model, complete or not: its text, the measures of each iteration, what the objective estimated."""

    model: str = ""
    history: list[dict[str, float]] = field(default_factory=list)
    state: dict[str, float] = field(default_factory=dict)


@dataclass
class Checkpoint:
    """Saves a training in one file: its complete bags, and how far the current one is. Without a path, nowhere.

    ``request`` is all that the model depends on; a file of another request is refused.
    """

    path: Path | None
    request: Mapping[str, Any]
    every: float = EVERY
    bags: list[Stage] = field(default_factory=list)
    current: Stage = field(default_factory=Stage)
    _saved: float = field(default_factory=time.monotonic)

    @classmethod
    def begin(cls, path: Path | None, request: Mapping[str, Any], every: float, resume: bool) -> Checkpoint:
        """The checkpoint of a training that begins, or that goes on from what was saved."""
        found = cls(path, request, every)
        if resume:
            found.load()
        else:
            found.remove()
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
        """Keep a complete bag; the next one begins anew."""
        self.bags.append(bag)
        self.current = Stage()
        self.save(self.current)

    def load(self) -> None:
        """Take up what an earlier run saved, if it did. That of a training with other data or settings is refused."""
        try:
            digest, _, text = self.path.read_text("utf-8", errors="replace").strip().partition("\n")  # type: ignore[union-attr]
        except (FileNotFoundError, AttributeError):
            return
        if digest != digest_of(text):
            raise InputError(self.path, "is damaged, or no checkpoint of a training; remove it and train anew")
        saved = parse_json(text)
        refuse_other_request(
            self.path, saved.pop("request"), self.request, "give the same, or remove it and train anew"
        )
        self.bags = [Stage(**bag) for bag in saved.pop("bags")]
        self.current = Stage(**saved)

    def remove(self) -> None:
        """Delete the file."""
        if self.path is not None:
            remove(self.path)

"""What commands write: nothing that exists is overwritten unless --force asks for it, checked before any work."""

from __future__ import annotations

import argparse
import os

from surefoot.errors import SurefootError

TYPE_CHECKING = False  # see surefoot/__init__.py
if TYPE_CHECKING:
    from typing import Any

MODEL_CARD = "card.json"


class NewFile(str):
    """A file to be written."""

    __slots__ = ()

    def exists(self) -> bool:
        """Whether writing would overwrite it; pipes and devices are written to, not replaced."""
        return os.path.isfile(self)  # noqa: PTH113 (pathlib is slow to load)


class NewModel(NewFile):
    """A folder for a model to be written into; it may exist, but not hold a model."""

    __slots__ = ()

    def exists(self) -> bool:
        """Whether the folder holds a model."""
        return os.path.isfile(os.path.join(self, MODEL_CARD))  # noqa: PTH113, PTH118


def add_file(parser: argparse._ActionsContainer, *flags: str, kind: type[NewFile] = NewFile, **settings: Any) -> None:
    """Add an option that names a file to write, and ``--force`` beside it."""
    parser.add_argument(*flags, type=kind, **settings)
    if "--force" not in parser._option_string_actions:
        parser.add_argument("--force", action="store_true", help="overwrite what exists")


def refuse_to_overwrite(arguments: argparse.Namespace) -> None:
    """Raise if a file that the command is to write exists, unless ``--force`` was given."""
    if getattr(arguments, "force", False) or getattr(arguments, "resume", False):
        return
    for value in vars(arguments).values():
        if isinstance(value, NewFile) and value.exists():
            raise SurefootError(f"{value} exists; name another, or overwrite it with --force")

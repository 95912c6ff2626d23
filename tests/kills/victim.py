"""A surefoot command that ends by SIGKILL just before its n-th file operation in a folder."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import lightgbm  # noqa: F401 (loaded once, before the processes begin)
import polars  # noqa: F401
import xgboost  # noqa: F401
from surefoot_lab.datasets import registry as registry_module
from surefoot_lab.experiments import runner  # noqa: F401
from surefoot_lab.tradeoff import sweep  # noqa: F401
from surefoot_lab.tradeoff.store import ModelStore

from surefoot.cli import main
from surefoot.learn import training

OPERATIONS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"}


def victim(folder: str, nth: int, registry: Path, command: list[str]) -> int:
    """Run a command with a checkpoint after each iteration, killed before its n-th file operation (0: never).

    The last message is how many there were.
    """
    training.train.__kwdefaults__["checkpoint_every"] = 0.0
    ModelStore.__init__.__defaults__ = (0.0,)
    registry_module.REGISTRY = registry
    count = 0

    def watch(event: str, arguments: Any) -> None:
        nonlocal count
        if event in OPERATIONS and isinstance(arguments[0], str | Path) and str(arguments[0]).startswith(folder):
            count += 1
            if count == nth:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    try:
        code = main(command)
    except BaseException as error:  # the frames of the process that was forked must not go on here
        print(repr(error), file=sys.stderr)
        code = 70
    print(f"\n{count}", file=sys.stderr, flush=True)
    return code

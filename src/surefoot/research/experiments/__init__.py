"""The published learning experiments, and others of their kind: one plan each, checkpointed by unit.

Names are loaded when they are first used, as in the package above.
"""

from surefoot._lazy import lazy

_HOME = {
    "Outcome": "outcome",
    "PROTOCOLS": "plan",
    "Plan": "plan",
    "experiment": "running",
    "load_data": "data",
    "read_plan": "plan_files",
    "write_outcome": "outcome",
}

__all__ = [*_HOME]


__getattr__ = lazy(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)

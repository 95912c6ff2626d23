"""The levels whose kernels this processor can run."""

from surefoot import native

RUNNABLE = native.LEVELS[: native.LEVELS.index(native.level()) + 1]

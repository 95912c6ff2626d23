"""Parts of scipy, imported when something of them is first used: that takes longer than to evaluate two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot._lazy import LazyModule

if TYPE_CHECKING:
    from scipy import optimize, special
else:
    optimize = LazyModule("scipy.optimize")
    special = LazyModule("scipy.special")

__all__ = ["optimize", "special"]

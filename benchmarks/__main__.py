"""Run all benchmarks, or those named."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

NAMES = sorted(
    file.stem for file in Path(__file__).parent.glob("*.py") if not file.stem.startswith("_") and file.stem != "timing"
)


def main() -> int:
    chosen = sys.argv[1:] or NAMES
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in chosen:
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())

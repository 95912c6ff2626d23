"""Run the studies named, or all: python -m studies [NAME ...] [--format md] [--quick]."""

from __future__ import annotations

import argparse
import importlib

from surefoot.show.tables import FORMATS, print_result

NAMES = (
    *(
        "false_alarms",
        "coverage",
        "power",
        "calibration",
        "gate",
        "sequential",
        "parity",
        "objectives",
        "jforests",
        "leaves",
    ),
    *("linear", "recipe", "guard", "guard_kinds", "certificates", "second_stage", "values", "stability", "properties"),
    *("assessors", "holes", "llm_judges", "judge", "explain", "atlas", "neural", "cross_encoder", "batch_memory"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--format", choices=FORMATS, default="table")
    parser.add_argument("--quick", action="store_true", help="a tenth of the collections")
    arguments = parser.parse_args()
    for name in arguments.names or NAMES:
        if name not in NAMES:
            parser.error(f"no study {name!r}; there are {', '.join(NAMES)}")
        try:
            study = importlib.import_module(f"studies.{name}")
        except ModuleNotFoundError as error:
            print(f"\n{name} is left out: it needs {error.name}", flush=True)
            continue
        for title, result in study.tables(10 if arguments.quick else 1):
            print(f"\n{title}\n", flush=True)
            print_result(result, arguments.format)


if __name__ == "__main__":
    main()

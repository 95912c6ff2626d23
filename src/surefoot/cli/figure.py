"""surefoot figure: a figure of the papers, made from one's own data."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.show import plots as figures

if TYPE_CHECKING:
    from surefoot.scores import Scores

EXAMPLES = """examples:
  surefoot figure alpha runs/*.run --qrels qrels.txt --measure nDCG@10 --baseline bm25 --of trisk -o alpha.svg
  surefoot figure topics --scores err20.csv --system uogTrA44xi --baseline indriCASP --alpha 0,1,5 -o topics.pdf
  surefoot figure cross --scores err20.csv --alpha 10 -o cross.png

`surefoot figure KIND --help` has the options of each."""

Settings = dict[str, Any]

SYSTEM: Settings = {"required": True, "metavar": "NAME", "help": "the system to look into"}
BASELINE: Settings = {"metavar": "NAME", "help": "a system, or MEAN, MEDIAN, MAX of each topic"}
ALPHA: Settings = {
    "type": inputs.number,
    "metavar": "A",
    "help": "risk sensitivity: a loss weighs 1 + alpha (default: 1)",
}
SYSTEMS: Settings = {"type": inputs.names, "metavar": "LIST", "help": "systems to draw, by comma (default: all)"}
LABEL: Settings = {
    "type": inputs.names,
    "metavar": "LIST",
    "help": "systems to name (default: all if few, else extremes)",
}
RESAMPLING: dict[str, Settings] = {
    "n-resamples": {"type": int, "metavar": "N", "help": "of the bootstrap (default: 10000)"},
    "seed": {"type": int, "metavar": "S", "help": "of all that is drawn (default: 0)"},
}
NEEDED: Settings = {**BASELINE, "required": True}

OPTIONS: dict[str, dict[str, Settings]] = {
    "profile": {"systems": SYSTEMS, "label": LABEL},
    "alpha": {
        "baseline": BASELINE,
        "of": {"choices": ("trisk", "urisk", "zrisk", "georisk"), "help": "(default: trisk)"},
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "the ends of the range (default: 0,10)"},
        "systems": SYSTEMS,
        "label": LABEL,
    },
    "topics": {
        "system": SYSTEM,
        "baseline": NEEDED,
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "up to five, by comma (default: 0,1,5)"},
    },
    "pca": {"systems": SYSTEMS, "label": LABEL},
    "paired": {"system": SYSTEM, "baseline": NEEDED},
    "sorted": {
        "systems": {**SYSTEMS, "required": True, "help": "systems to draw, by comma"},
        "baseline": NEEDED,
        "alpha": ALPHA,
    },
    "differences": {"baseline": NEEDED, "systems": SYSTEMS},
    "values": {"baseline": BASELINE, "alpha": ALPHA},
    "qq": {"system": SYSTEM, "baseline": NEEDED, "alpha": ALPHA, **RESAMPLING},
    "rbo": {
        "baseline": NEEDED,
        "of": {"type": inputs.names, "metavar": "LIST", "help": "measures (default: urisk,zrisk,georisk)"},
        "alpha": ALPHA,
    },
    "helped": {
        "system": SYSTEM,
        "baseline": NEEDED,
        "change": {"choices": ("relative", "absolute"), "help": "to the baseline's score (default), or in the measure"},
    },
    "cross": {"alpha": ALPHA, "systems": SYSTEMS},
    "plane": {"baseline": NEEDED, "alpha": ALPHA, "systems": SYSTEMS, "label": LABEL, **RESAMPLING},
    "forest": {
        "baseline": BASELINE,
        "of": {"metavar": "MEASURE", "help": "mean, urisk, trisk, zrisk, georisk, tail_0.1 … (default: georisk)"},
        "alpha": ALPHA,
        "systems": SYSTEMS,
        "method": {"choices": ("bca", "percentile", "jackknife"), "help": "of the intervals (default: bca)"},
        **RESAMPLING,
    },
}
"""By kind, its options; each is a keyword of its function, whose default holds for what is not given."""

TRADEOFF_OPTIONS: dict[str, dict[str, Settings]] = {
    "tradeoff": {
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "of the break-even lines (default: 1)"},
        **RESAMPLING,
    },
    "convergence": {"of": {"metavar": "FIGURE", "help": "mean, urisk, frisk, freward, losses … (default: mean)"}},
    "churn": {},
    "changes": {},
    "reward-by-churn": {
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "one to five of the folder's (default: three)"},
    },
    "best-alpha": {},
    "front": {},
}
"""The same for kinds that draw the folders of `surefoot tradeoff`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A parser for each kind, with its own options."""
    places = parser.add_subparsers(dest="kind", metavar="KIND", title="kinds", required=True)
    for kind, (_, summary) in figures.KINDS.items():
        place = places.add_parser(kind, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        inputs.add_inputs(place)
        place.add_argument("-o", "--output", required=True, metavar="FILE", help="ends in .svg, .png or .pdf")
        for option, settings in OPTIONS[kind].items():
            place.add_argument(f"--{option}", **settings)
    for kind, (_, summary) in figures.TRADEOFF_KINDS.items():
        place = places.add_parser(kind, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        several: Settings = {"nargs": "+"} if kind == "tradeoff" else {}
        place.add_argument("folders", metavar="DIR", help="what surefoot tradeoff -o wrote", **several)
        place.add_argument("-o", "--output", required=True, metavar="FILE", help="ends in .svg, .png or .pdf")
        for option, settings in TRADEOFF_OPTIONS[kind].items():
            place.add_argument(f"--{option}", **settings)


def run(arguments: argparse.Namespace) -> int:
    """Read, draw, write."""
    figures.ending_of(arguments.output)  # before the work, not after it
    words = [option.replace("-", "_") for option in (OPTIONS | TRADEOFF_OPTIONS)[arguments.kind]]
    options = {word: getattr(arguments, word) for word in words if getattr(arguments, word) is not None}
    if arguments.kind in figures.TRADEOFF_KINDS:
        draw = getattr(figures, figures.TRADEOFF_KINDS[arguments.kind][0])
        figures.save(draw(_kept(arguments), **options), arguments.output)
        return 0
    scores = _scores(arguments)
    for note in scores.notes if scores else ():
        print(f"note: {note}", file=sys.stderr)
    axes = getattr(figures, figures.KINDS[arguments.kind][0])(scores, **options)
    figures.save(axes, arguments.output)
    return 0


def _scores(arguments: argparse.Namespace) -> Scores | None:
    """What to draw; value functions can do without."""
    if arguments.kind == "values" and not (arguments.scores or arguments.runs or arguments.baseline):
        return None
    return inputs.load_one(arguments)


def _kept(arguments: argparse.Namespace) -> Any:
    """What `surefoot tradeoff` left in the folders."""
    from surefoot.research.tradeoff.files import read_choice, read_sweep

    if arguments.kind == "front":
        return read_choice(arguments.folders)
    return (
        [read_sweep(one) for one in arguments.folders]
        if arguments.kind == "tradeoff"
        else read_sweep(arguments.folders)
    )

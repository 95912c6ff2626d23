"""surefoot figure: the plots of the papers, made from one's own data."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import surefoot
from surefoot.cli import inputs
from surefoot.cli.outputs import add_file
from surefoot.errors import SurefootError, listed
from surefoot.show.plots import KINDS, TRADEOFF_KINDS

if TYPE_CHECKING:
    from surefoot.research.tradeoff.search import Choice
    from surefoot.research.tradeoff.sweep import Sweep
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
    "shape": {
        "systems": SYSTEMS,
        "label": LABEL,
        "order": {"choices": ("table", "mean"), "help": "of the topics: as read (default), or the easiest first"},
    },
    "profile": {"systems": SYSTEMS, "label": LABEL},
    "alpha": {
        "baseline": BASELINE,
        "of": {"metavar": "MEASURE", "help": "trisk, urisk, zrisk, georisk … (default: trisk)"},
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "the ends of the range (default: 0,10)"},
        "systems": SYSTEMS,
        "label": LABEL,
    },
    "topics": {
        "system": {**SYSTEM, "type": inputs.names, "metavar": "LIST", "help": "one system, or several by comma"},
        "baseline": NEEDED,
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "up to five, by comma (default: 0,1,5)"},
    },
    "pca": {
        "systems": SYSTEMS,
        "label": LABEL,
        "include": {"action": "store_true", "help": "MEAN, MEDIAN and MAX take part in the analysis"},
    },
    "correlation": {"baseline": NEEDED, "alpha": ALPHA, "systems": SYSTEMS, "label": LABEL},
    "paired": {"system": SYSTEM, "baseline": NEEDED},
    "sorted": {
        "systems": {**SYSTEMS, "required": True, "help": "systems to draw, by comma"},
        "baseline": NEEDED,
        "alpha": {**ALPHA, "type": inputs.numbers, "metavar": "LIST", "help": "one or several, by comma (default: 1)"},
        "mutual": {"action": "store_true", "help": "the baseline against each system too"},
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
        "method": {
            "choices": ("studentised", "bca", "percentile", "jackknife"),
            "help": "of the intervals (default: studentised)",
        },
        **RESAMPLING,
    },
}
"""The options of each kind. Each is a keyword argument of the kind's function, whose default applies otherwise."""

TRADEOFF_OPTIONS: dict[str, dict[str, Settings]] = {
    "tradeoff": {
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "of the break-even lines (default: 1)"},
        **RESAMPLING,
    },
    "convergence": {
        "of": {"metavar": "FIGURE", "help": "mean, urisk, frisk, freward, losses … (default: mean)"},
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "one to five of the folder's (default: three)"},
    },
    "churn": {},
    "changes": {},
    "reward-by-churn": {
        "alpha": {"type": inputs.numbers, "metavar": "LIST", "help": "one to five of the folder's (default: three)"},
    },
    "best-alpha": {},
    "front": {},
}
"""The same for kinds that draw the folders of `surefoot tradeoff`."""

ALL_OPTIONS = OPTIONS | TRADEOFF_OPTIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A parser for each kind, with its own options."""
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", title="kinds", required=True)
    for kind, (_, summary) in (KINDS | TRADEOFF_KINDS).items():
        own = kinds.add_parser(kind, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if kind in KINDS:
            inputs.add_inputs(own)
            own.add_argument(
                "--population",
                type=inputs.names,
                metavar="LIST",
                help="systems behind Z_Risk, GeoRisk, fences and virtual baselines, by comma (default: all read)",
            )
        else:
            several: Settings = {"nargs": "+"} if kind == "tradeoff" else {}
            own.add_argument("folders", metavar="DIR", help="what surefoot tradeoff -o wrote", **several)
        add_file(own, "-o", "--output", required=True, metavar="FILE", help="ends in .svg, .png or .pdf")
        for option, settings in ALL_OPTIONS[kind].items():
            own.add_argument(f"--{option}", **settings)


def run(arguments: argparse.Namespace) -> int:
    """Read, draw, write."""
    from surefoot.show.plots.style import ending_of, save_plot

    ending_of(arguments.output)  # an unknown ending is refused before the work, not after it
    function, _ = (KINDS | TRADEOFF_KINDS)[arguments.kind]
    names = [option.replace("-", "_") for option in ALL_OPTIONS[arguments.kind]]
    options = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    data = _scores(arguments) if arguments.kind in KINDS else _tradeoff(arguments)
    save_plot(getattr(surefoot, function)(data, **options), arguments.output)
    return 0


def _scores(arguments: argparse.Namespace) -> Scores | None:
    """The scores to draw; value functions can be drawn without any."""
    given = arguments.scores or arguments.runs or arguments.repeats or arguments.baseline
    if arguments.kind == "values" and not given:
        return None
    scores = inputs.load_one(arguments)
    for note in scores.all_notes:
        print(f"note: {note}", file=sys.stderr)
    return scores if arguments.population is None else _population(scores, arguments)


def _population(scores: Scores, arguments: argparse.Namespace) -> Scores:
    """The systems of the population alone, which hold all that the figure names."""
    from surefoot._names import as_names
    from surefoot.scores import VIRTUAL

    named = [as_names(getattr(arguments, option, None) or ()) for option in ("system", "systems", "baseline", "label")]
    outside = [name for names in named for name in names if name not in (*arguments.population, *VIRTUAL)]
    if outside:
        raise SurefootError(f"--population must hold the systems and the baseline of the figure; add {listed(outside)}")
    return scores.select(arguments.population)


def _tradeoff(arguments: argparse.Namespace) -> Choice | Sweep | list[Sweep]:
    """The results that `surefoot tradeoff` wrote into the folders."""
    from surefoot.research.tradeoff.files import read_choice, read_sweep

    if arguments.kind == "front":
        return read_choice(arguments.folders)
    if arguments.kind == "tradeoff":
        return [read_sweep(folder) for folder in arguments.folders]
    return read_sweep(arguments.folders)

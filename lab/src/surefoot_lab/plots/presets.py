"""The papers' figures, with the runs, baselines and alphas of each paper: ``surefoot figure paper ecir2014-fig3a``.

Where no caption is at hand (ECIR 2014, figures 3 and 4), runs follow from what the text says of them and alphas are
those of the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from surefoot.cli.figure import FIGURES
from surefoot.errors import SurefootError
from surefoot.stats.principal_axes import pca
from surefoot_lab.cli.figures import AGREEMENT
from surefoot_lab.reproduce import NEEDS_SCORES, load_scores, sigir2016
from surefoot_lab.reproduce.cells import printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BASELINE = "indriCASP"
NINE_OF_2014 = [line["system"] for line in printed("ecir2014-table3-mean-median-max")]
EIGHT = [name for name in NINE_OF_2014 if name != BASELINE]
NINE_OF_2016 = [line["system"] for line in printed("sigir2016-table6-trec2012")]
PAIR = ("srchvrs12c09", "uogTrA44xi")
"""The two runs of ECIR 2014, section 4: 11 and 8 topics above 0.8, and 28 losses against 21."""


@dataclass(frozen=True)
class Preset:
    """A figure of a paper: its kind, the systems that it is about (all if none are named) and its options."""

    title: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    population: list[str] | None = None


def _sorted(system: str, baseline: str, *alphas: float) -> dict[str, Any]:
    return {"systems": [system], "baseline": baseline, "alpha": list(alphas)}


PRESETS = {
    "sigir2014-fig1": Preset(
        "T_Risk over alpha", "alpha",
        {"baseline": BASELINE, "of": "trisk", "alpha": [0, 15], "systems": EIGHT, "label": EIGHT},
    ),
    "sigir2014-fig2": Preset(
        "T_J topic by topic", "topics",
        {"system": ["uogTrA44xi", "qutwb"], "baseline": BASELINE, "alpha": [0, 1, 5]},
    ),
    "ecir2014-fig1": Preset("the nine runs on principal axes", "pca", {"label": NINE_OF_2014}, NINE_OF_2014),
    "ecir2014-fig2": Preset("with MEAN, MEDIAN and MAX", "pca", {"label": NINE_OF_2014, "include": True}, NINE_OF_2014),
    "ecir2014-fig3a": Preset("one run over the other", "paired", {"system": PAIR[0], "baseline": PAIR[1]}),
    "ecir2014-fig3b": Preset("the first against the second", "sorted", _sorted(PAIR[0], PAIR[1], 10)),
    "ecir2014-fig3c": Preset("the second against the first", "sorted", _sorted(PAIR[1], PAIR[0], 10)),
    "ecir2014-fig4": Preset("several alphas", "sorted", _sorted(PAIR[0], PAIR[1], 1, 5, 10)),
    "sigir2016-fig1": Preset("the example's systems", "shape"),
    "sigir2016-fig2-3": Preset(
        "GeoRisk over alpha", "alpha", {"of": "georisk", "alpha": [0, 20], "label": NINE_OF_2016}, NINE_OF_2016
    ),
    "ecir2020-fig1": Preset("score differences and fences", "differences", {"baseline": BASELINE}),
    "ecir2020-fig2": Preset("value functions", "values", {"baseline": BASELINE, "alpha": 1}),
    "ecir2020-fig3": Preset("Q-Q of bootstrap means", "qq", {"system": "ICTNET12ADR3", "baseline": BASELINE}),
    "ecir2020-fig4": Preset(
        "RBO over growing heads", "rbo", {"baseline": BASELINE, "of": ["urisk", "zrisk", "geominus_published"]}
    ),
}  # fmt: skip


def paper_figure(name: str) -> Axes:
    """Draw a figure of a paper from the scores of the TREC 2012 Web runs, or from SIGIR 2016's example."""
    preset = PRESETS[name]
    scores = sigir2016.example() if name == "sigir2016-fig1" else load_scores()
    if scores is None:
        raise SurefootError(f"{name} {NEEDS_SCORES}")
    if preset.population:
        scores = scores.select(preset.population)
    draw = (FIGURES | AGREEMENT)[preset.kind].draw
    axes: Axes = draw(pca(scores, virtual=()) if name == "ecir2014-fig1" else scores, **preset.options)
    return axes

"""The figures of docs/atlas.md: python -m studies.atlas.figures docs/figures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from studies.atlas import pairs
from studies.atlas.collections import FAMILIES, AtlasCollection, load_collections
from studies.atlas.risk import FEWEST_RUNS, better_runs, compared, run_risks, shifted_risk
from surefoot.plots.style import (
    BLACK,
    BLUE,
    FAINT,
    GREEN,
    ORANGE,
    PAGE,
    PURPLE,
    QUIET,
    SKY,
    VERMILION,
    NotebookAxes,
    label_ticks,
    paper_style,
    save_plot,
)
from surefoot.results import Result

LOOKS = dict(
    zip(
        FAMILIES,
        (
            (QUIET, "o"), (PURPLE, "P"), (GREEN, "D"), (SKY, "^"), (ORANGE, "v"), (BLUE, "s"), (VERMILION, "*"),
            (FAINT, "."),
        ),
        strict=True,
    )
)  # fmt: skip
"""Colour and marker of each family; markers tell them apart in greyscale."""
SURVIVORS = (
    ("losses", "losses by the first assessor", FAINT),
    ("losses, not an artefact", "whatever unjudged documents are", SKY),
    ("losses, three assessors", "for all three assessors", BLUE),
    ("credible losses", "credible, 95 %", BLACK),
)


@contextmanager
def _panels(names: Sequence[str], width: int, height: float = 2.1) -> Iterator[dict[str, Axes]]:
    """A panel for each name, so many side by side."""
    rows = -(-len(names) // width)
    with paper_style():
        figure = Figure(figsize=(PAGE, height * rows + 0.35), layout="constrained")
        every = {
            name: figure.add_subplot(rows, min(width, len(names)), number, axes_class=NotebookAxes)
            for number, name in enumerate(names, start=1)
        }
        for name, axes in every.items():
            axes.set_title(name, loc="left")
        yield every


def _legend(axes: Axes, families: Sequence[str], *more: Any) -> None:
    handles = [
        Line2D([], [], color=LOOKS[name][0], marker=LOOKS[name][1], linestyle="", markersize=4, label=name)
        for name in FAMILIES
        if name in families
    ]
    figure = axes.get_figure(root=True)
    if figure is not None:
        figure.legend(handles=[*handles, *more], loc="outside lower center", ncols=9)


def plane(runs: Result) -> Axes:
    """F_Risk against F_Reward of every run, against BM25: a panel for each collection."""
    rows = [row for row in runs.rows() if row["against"] == "BM25"]
    with _panels(list(dict.fromkeys(row["collection"] for row in rows)), 3) as panels:
        for name, axes in panels.items():
            own = [row for row in rows if row["collection"] == name]
            for family in FAMILIES[::-1]:
                members = [row for row in own if row["family"] == family]
                _scatter(axes, family, [row["frisk"] for row in members], [row["freward"] for row in members])
            most = max(max(row["frisk"], row["freward"]) for row in own)
            axes.plot([0, most], [0, most], color=FAINT, linewidth=0.6, zorder=0)
            axes.set(xlabel="F_Risk: mean loss against BM25", ylabel="F_Reward: mean gain")
        _legend(axes, [row["family"] for row in rows])
    return axes


def trend(collections: Sequence[AtlasCollection]) -> Axes | None:
    """F_Risk against the gain over BM25, and the line of runs that differ from each other in the gain alone."""
    shown = {one.name: one for one in collections if len(better_runs(one)) >= FEWEST_RUNS}
    if not shown:
        return None
    families: list[str] = []
    with _panels(list(shown), 2) as panels:
        for name, axes in panels.items():
            one, better = shown[name], better_runs(shown[name])
            deltas = np.array([one.delta(run, one.bm25) for run in better])
            gains = deltas.mean(axis=1)
            for family in FAMILIES[::-1]:
                own = np.array([one.family(run) == family for run in better])
                _scatter(axes, family, gains[own], compared(deltas[own]).frisk)
                families += [family] * bool(own.any())
            grid = np.linspace(0, gains.max(), 50)
            axes.plot(grid, shifted_risk(deltas, grid), color=BLACK, linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
            axes.set(xlabel="gain of the mean over BM25", ylabel="F_Risk against BM25")
            axes.set_ylim(bottom=0)
        line = Line2D([], [], color=BLACK, linewidth=0.8, linestyle=(0, (4, 2)), label="the gain alone")
        _legend(axes, families, line)
    return axes


def _scatter(axes: Axes, family: str, x: Any, y: Any) -> None:
    colour, marker = LOOKS[family]
    axes.scatter(x, y, 30 if marker == "*" else 14, colour, marker=marker, linewidth=0, alpha=0.85)


def rerankers(collections: Sequence[AtlasCollection]) -> Axes | None:
    """The difference of each topic for rerankers over one first stage, topics ordered by the mean difference."""
    blocks = [(one, first) for one in collections for first in dict.fromkeys(first for _, first in one.reranked("LLM"))]
    if not blocks:
        return None
    titles = [f"{one.name}, over {first}" for one, first in blocks]
    with _panels(titles, 1, 1.7) as panels:
        for axes, (one, first) in zip(panels.values(), blocks, strict=True):
            runs = [run for family in ("cross-encoder", "LLM") for run, own in one.reranked(family) if own == first]
            deltas = np.array([one.delta(run, first) for run in runs])
            order = np.argsort(deltas.mean(axis=0))
            scale = TwoSlopeNorm(0, -float(np.abs(deltas).max()), float(np.abs(deltas).max()))
            image = axes.imshow(deltas[:, order], aspect="auto", cmap="RdBu", norm=scale, interpolation="nearest")
            label_ticks(axes, "y", range(len(runs)), runs)
            axes.set(xlabel="topics, the most hurt first", xticks=[])
            figure = axes.get_figure(root=True)
            if figure is not None:
                figure.colorbar(image, ax=axes, label="difference of nDCG@10", pad=0.01)
    return axes


def survivors(families: Result) -> Axes:
    """The number of losses of each family that survive each doubt."""
    rows = [row for row in families.rows() if row["losses"]]
    with _panels([""], 1, 0.3 * len(rows) + 0.5) as panels:
        (axes,) = panels.values()
        places = np.arange(len(rows))[::-1]
        for number, (column, label, colour) in enumerate(SURVIVORS):
            values = [100 * (row[column] or 0) / row["losses"] for row in rows]
            axes.barh(places + 0.3 - 0.2 * number, values, 0.18, color=colour, label=label)
            for place, value, row in zip(places, values, rows, strict=True):
                if row[column] is not None:
                    axes.text(value + 0.7, place + 0.3 - 0.2 * number, str(row[column]), fontsize=5, va="center")
        axes.set_yticks(places, [f"{row['collection']}: {row['family']} ({row['pairs']})" for row in rows])
        axes.set(xlabel="% of the losses against the first stage", xlim=(0, 108))
        figure = axes.get_figure(root=True)
        if figure is not None:
            figure.legend(loc="outside lower center", ncols=len(SURVIVORS))
    return axes


def guards(guarded: Result) -> Axes:
    """F_Risk and mean of each reranker, without and with a guard, joined by a line."""
    rows = guarded.rows()
    with _panels(list(dict.fromkeys(row["collection"] for row in rows)), 3) as panels:
        for name, axes in panels.items():
            for row in (row for row in rows if row["collection"] == name):
                colour = LOOKS[row["family"]][0]
                x, y = (row["frisk"], row["guarded frisk"]), (row["mean"], row["guarded mean"])
                axes.plot(x, y, color=colour, linewidth=0.6, alpha=0.7)
                axes.scatter(x[0], y[0], 14, "white", edgecolor=colour, linewidth=0.7, zorder=3)
                _scatter(axes, row["family"], [x[1]], [y[1]])
            axes.set(xlabel="F_Risk against the first stage", ylabel="mean nDCG@10")
            axes.set_xlim(0, 1.06 * max(row["frisk"] for row in rows if row["collection"] == name))
        unguarded = Line2D([], [], color=QUIET, marker="o", markerfacecolor="white", linestyle="", markersize=4,
                       label="without a guard (filled: guarded)")  # fmt: skip
        _legend(axes, [row["family"] for row in rows], unguarded)
    return axes


def main() -> None:
    """Write the figures to a folder, as PNG."""
    (folder,) = sys.argv[1:]
    atlas, _ = load_collections()
    doubted = pairs.doubted_families(pairs.doubted_pairs(atlas), atlas)
    drawn = {
        "plane": plane(run_risks(atlas)),
        "trend": trend(atlas),
        "rerankers": rerankers(atlas),
        "survivors": survivors(doubted),
        "guards": guards(pairs.guarded_pairs(atlas)),
    }
    for name, axes in drawn.items():
        if axes is not None:
            save_plot(axes, f"{folder}/atlas-{name}.png")


if __name__ == "__main__":
    main()

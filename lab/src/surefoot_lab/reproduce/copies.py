"""One pair of copies of two runs that meets every printed cell of 2014 at once, and how much that shows.

The papers of 2014 and 2016 print other means for DFalah121A and irra12c than the public scores give; ECIR 2020 prints
the public one. Nobody has those copies. So 100 scores, 50 topics of two runs, are fitted to all cells of SIGIR 2014,
tables 1 and 2, and ECIR 2014, tables 1 to 3, that depend on them (swapped cells put right): bounded least squares of
what the cells miss beyond their rounding. If one pair meets all of them, each is consistent with one copy. The pair is
not identified: most cells follow from others, so that they constrain fewer directions than there are free scores
(`JointCheck.constrained`). Two controls show how much the fit is worth. Five cells that are moved by ten units must be
noticed, and a table that is held out shows how well the fit predicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np

from surefoot import risk
from surefoot._typing import BoolArray, FloatArray
from surefoot.scores import Scores
from surefoot.stats.inference import t_inference
from surefoot_lab.reproduce.cells import Cell, printed, printed_cell
from surefoot_lab.reproduce.ecir2014 import VIRTUAL_TABLE, mended

COPIES = ("DFalah121A", "irra12c")
"""Means 0.2920 and 0.1723 in the papers of 2014 and 2016; 0.2992 and 0.1725 in the public scores."""

BASELINE = "indriCASP"
ALPHAS = (0, 1, 5, 10)
DECIMALS = "the public scores have five decimals"
HALF_DECIMAL = 5e-6
MOST_STEPS = 150
"""Steps of the fit."""
MARGIN = 0.9
"""Share of the half digit of a cell within which the fit does not pull."""

Recompute = Callable[[Scores], Iterable[Cell]]
Runs = dict[str, FloatArray]
Key = tuple[str, str, str]


class JointCheck:
    """The copies that fit the cells of 2014, with two controls, which run when they are read."""

    def __init__(self, scores: Scores) -> None:
        self._fit = fit = CopyFit(scores)
        found = fit.solve(fit.published)
        self.scores = fit.place(found)
        self.constrained = int((np.linalg.svd(fit.slopes(found), compute_uv=False) > 1).sum())
        """Directions of the 100 scores along which a move by 1 moves the cells by more than half a digit."""
        self.cells = len(fit.keys)
        self.public, self.met = (int((fit.miss(own, fit.published) <= 1).sum()) for own in (fit.public, found))
        first, second = (np.abs(found - fit.public) > 10 * HALF_DECIMAL).reshape(2, -1).sum(axis=1).tolist()
        self.moved_topics = first, second

    @cached_property
    def tampered(self) -> tuple[int, int]:
        """Cells met after five were moved by ten units of their last digit, and how many of the five are noticed."""
        fit, rng = self._fit, np.random.default_rng(0)
        five = rng.choice(self.cells, 5, replace=False)
        moved = fit.published.copy()
        moved[five] += 20 * fit.half[five] * rng.choice([-1, 1], 5)
        met = fit.miss(fit.solve(moved), moved) <= 1
        return int(met.sum()), int((~met[five]).sum())

    @cached_property
    def held_out(self) -> tuple[int, int, float, float]:
        """ECIR 2014's table 3 without being fitted: its cells, those met, the median miss before and after the fit."""
        fit = self._fit
        table3 = np.array([key[0] == VIRTUAL_TABLE for key in fit.keys])
        before, after = (
            fit.miss(own, fit.published)[table3] for own in (fit.public, fit.solve(fit.published, ~table3))
        )
        return len(before), int((after <= 1).sum()), float(np.median(before)), float(np.median(after))

    @property
    def reason(self) -> str:
        """Why a cell that these copies give is consistent."""
        names = " and ".join(COPIES)
        return f"one pair of copies of {names} gives it, and all {self.cells} cells of 2014 that depend on them"

    def lines(self) -> list[str]:
        """The check and its controls as lines of text."""
        met, noticed = self.tampered
        cells, predicted, before, after = self.held_out
        first, second = self.moved_topics
        return [
            f"joint check: one pair of copies of {' and '.join(COPIES)} meets {self.met} of {self.cells} cells "
            f"(the public ones {self.public}; {first} and {second} of 50 topics moved). The cells constrain "
            f"{self.constrained} directions of the 100 free scores: consistent, not identified",
            f"control, five cells moved by ten units: {met} of {self.cells} met, {noticed} of the five noticed",
            f"control, ECIR 2014 table 3 held out: {predicted} of {cells} cells to the digit, the median miss falls "
            f"from {before:.1f} to {after:.1f} half digits",
        ]


class CopyFit:
    """The cells that depend on the copies, as printed, and the copies that meet most of them."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self.runs: Runs = {line["system"]: scores[line["system"]] for line in printed(VIRTUAL_TABLE)}
        self.public = np.concatenate([scores[name] for name in COPIES])
        self.keys = [key for key, _ in _dependent(self.runs)]
        texts = [mended(*key[1:]) if key[0] == VIRTUAL_TABLE else printed_cell(*key) for key in self.keys]
        self.published = np.array([float(text) for text in texts])
        self.half = np.array([Cell("", "", text, None).half_digit for text in texts])

    def place(self, copies: FloatArray) -> Scores:
        """The scores with these copies in the place of the public ones."""
        values = self.scores.values.copy()
        values[[self.scores.row(name) for name in COPIES]] = copies.reshape(2, -1)
        return Scores(values, self.scores.systems, self.scores.topics, self.scores.measure)

    def values(self, copies: FloatArray) -> FloatArray:
        """The cells for each of several pairs of copies."""
        first, second = np.split(copies, 2, axis=-1)
        runs = self.runs | dict(zip(COPIES, (first, second), strict=True))
        return np.stack([np.broadcast_to(value, len(copies)) for _, value in _dependent(runs)], axis=-1)

    def miss(self, copies: FloatArray, published: FloatArray) -> FloatArray:
        """How far each cell is from print, in half digits."""
        found: FloatArray = np.abs(self.values(copies[None])[0] - published) / self.half - 1e-9
        return found

    def slopes(self, copies: FloatArray) -> FloatArray:
        """How each cell moves with each score, in half digits: scores × cells."""
        nudge = np.where(copies < 0.5, 1e-7, -1e-7)
        moved = self.values(copies + np.diag(nudge)) - self.values(copies[None])
        slopes: FloatArray = moved / nudge[:, None] / self.half
        return slopes

    def solve(self, published: FloatArray, used: BoolArray | bool = True) -> FloatArray:
        """Levenberg-Marquardt steps from the public copies, clipped to [0, 1], until no cell pulls or none helps."""

        def pull(values: FloatArray) -> FloatArray:
            off = (values - published) / self.half
            return np.where(used, np.sign(off) * np.maximum(np.abs(off) - MARGIN, 0), 0)

        at, damping = self.public, 1e-2
        values = self.values(at[None])[0]
        for _ in range(MOST_STEPS):
            rest = pull(values)
            if not rest.any() or damping > 1e6:
                break
            slopes = self.slopes(at)[:, rest != 0]
            downhill = slopes @ rest[rest != 0]
            free = ~((at <= 0) & (downhill > 0) | (at >= 1) & (downhill < 0))
            curve = slopes[free] @ slopes[free].T
            scale = np.trace(curve) / len(curve) * np.eye(len(curve))
            while damping <= 1e6:
                step = np.zeros(len(at))
                step[free] = np.linalg.solve(curve + damping * scale, -downhill[free])
                tried = np.clip(at + step, 0, 1)
                there = self.values(tried[None])[0]
                if np.square(pull(there)).sum() < np.square(rest).sum():
                    at, values, damping = tried, there, max(damping / 4, 1e-12)
                    break
                damping *= 4
        return at


def _dependent(runs: Runs) -> Iterator[tuple[Key, FloatArray]]:
    """The cells that move with the copies, by file, row and column; runs may have a leading axis of pairs of copies."""
    for name in COPIES:
        found = t_inference(runs[name], runs[BASELINE], ALPHAS)
        for file in ("sigir2014-table1-standard-errors", "ecir2014-table1-urisk"):
            yield (file, name, "err20"), runs[name].mean(axis=-1)
        for index, alpha in enumerate(ALPHAS):
            yield ("sigir2014-table1-standard-errors", name, f"urisk_a{alpha}"), found.urisk[index]
            yield ("sigir2014-table1-standard-errors", name, f"se_a{alpha}"), found.se[index]
            yield ("sigir2014-table2-trisk-pvalues", name, f"trisk_a{alpha}"), found.trisk[index]
            yield ("sigir2014-table2-trisk-pvalues", name, f"p_a{alpha}"), found.p[index]
            if alpha:
                yield ("ecir2014-table1-urisk", name, f"urisk_a{alpha}"), found.urisk[index]
    others = [name for name in runs if name != BASELINE]
    for one, other in ((one, other) for one in others for other in others if one != other and {one, other} & {*COPIES}):
        key = ("ecir2014-table2-every-run-as-baseline-a10", one, other)
        yield key, risk.urisk(runs[one], runs[other], 10)
    stacked = np.stack(np.broadcast_arrays(*runs.values()))
    virtual = {"mean": stacked.mean(axis=0), "median": np.median(stacked, axis=0), "max": stacked.max(axis=0)}
    for kind, baseline in virtual.items():
        for alpha in (5, 10):
            for name, value in zip(runs, risk.urisk(stacked, baseline, alpha), strict=True):
                yield (VIRTUAL_TABLE, name, f"{kind}_a{alpha}"), value


def rounding(recompute: Recompute, scores: Scores) -> FloatArray:
    """How far each cell can move with the decimals of the public scores: half a decimal in each run, one by one."""
    values = _values(recompute(scores))
    return sum((np.abs(_values(recompute(nudged)) - values) for nudged in _nudged(scores)), np.zeros(len(values)))


def _values(cells: Iterable[Cell]) -> FloatArray:
    return np.array([np.nan if not isinstance(cell.recomputed, float) else cell.recomputed for cell in cells])


def _nudged(scores: Scores) -> Iterator[Scores]:
    """The scores with those of one run half a decimal higher, for each run; a 0 is exact."""
    for row in range(len(scores.systems)):
        values = scores.values.copy()
        values[row] += HALF_DECIMAL * (values[row] > 0)
        yield Scores(values, scores.systems, scores.topics, scores.measure)

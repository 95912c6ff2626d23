"""Are losses real where judgments are missing? Judgments removed, predicted, and compared with the full ones.

Protocol. The runs are reduced to the documents that are judged, so that the full judgments leave no hole. Judgments are
removed in two ways. A shallower pool keeps the documents that a random quarter of the runs (at least two) has among its
first 3. A pool without a group removes, among a candidate's first 10 documents, those that no run of another group has
among its first 10; runs belong to a group if their names begin with the same letters. Each of POOLS shallow pools
(MORE_POOLS where there are at most SMALL runs) serves PAIRS random pairs of the runs outside it; each of LEFT_OUT
random candidates one random baseline of another group. All runs vote; in the last table none, three or eight beside the
pair, on MORE_POOLS pools of FEW_IN with another seed, with and without the factor that widens intervals where few runs
vote. p_loss and the intervals are those of `credibility` without assessors, on topics where the two rankings have an
unjudged document.

The form of `GradeModel` (profiles beside votes, effects of topics, the design effect, Student's t with 4 degrees of
freedom) was chosen among 13 on TREC-COVID round 1, TREC DL 2019 and TREC Web 2012, with other seeds (100 to 105) than
the one below. Separate weights for documents that only one run ranks high were chosen afterwards, among 8 forms, on
groups of 10 random runs of TREC-COVID and TREC DL 2019 with the seeds 600 to 603: there the intervals of U_Risk without
a group's documents held 44 and 45 of 48, and 40 and 41 before. CODEC was not looked at, nor Web 2012 for this. The
effects of the two runs' sides, with priors from the study of language models, were added in one form. The factor for
few voters was chosen last, on 32 pairs of TREC DL 2019 with other seeds, among 1, 2 and 4 for two voting runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from studies.judged_collections import (
    FILES,
    Calibration,
    Grades,
    Rankings,
    as_qrels,
    as_runs,
    coverage_table,
    data,
    read_grades,
    read_rankings,
)
from surefoot.io.document_lists import Run
from surefoot.judgments.credibility import NO_CHANGE, draw_values
from surefoot.judgments.judged_runs import VOTERS, JudgedPair, JudgedRuns
from surefoot.judgments.unjudged import GradeModel
from surefoot.results import Result, signature
from surefoot.risk.values import Linear

POOLS, MORE_POOLS, SMALL, PAIRS, LEFT_OUT, DRAWS, SEED = 2, 8, 20, 8, 12, 300, 17
DEPTH, HEAD, FEW = 3, 10, (0, 3, 8)
U_RISK = "U_Risk, alpha 1"
COLLECTIONS = ("TREC-COVID round 1", "TREC DL 2019", "TREC Web 2012", "CODEC")
FEW_IN = ("TREC DL 2019", "TREC-COVID round 1")
MEASURES = {"TREC Web 2012": "ERR@20"}


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    together: dict[str, list[bool]] = {}
    for name in COLLECTIONS:
        collection = Collection.read(name)
        pools = POOLS if len(collection.runs) > SMALL else MORE_POOLS
        for kind, holes, number in (
            ("shallower pool", collection.shallow, max(pools // less, 2)),
            ("left-out group", collection.without_group, LEFT_OUT // less),
        ):
            losses, inside = Calibration([], []), {"delta": [], U_RISK: []}
            for case in holes(np.random.default_rng(SEED), number):
                _compare(case, losses, inside)
            note = "topics with unjudged documents; bounds of a right rate, 99 %"
            yield f"p_loss, {kind}: {name}, {collection.measure}", losses.table("holes", note)
            yield f"Intervals of 90 %, {kind}: {name}, {collection.measure}", coverage_table("holes", inside)
            together.setdefault(f"{U_RISK}, {kind}", []).extend(inside[U_RISK])
    yield "Intervals of 90 %: all collections", coverage_table("holes", together)
    yield from _few_voters(less)


def _few_voters(less: int) -> Iterator[tuple[str, Result]]:
    """Shallower pools where no other run, or few, vote beside the pair, with and without wider intervals."""
    columns: dict[str, list[object]] = {}
    for name in FEW_IN:
        collection = Collection.read(name)
        for others in FEW:
            row: dict[str, object] = {"collection": name, "other runs": others}
            for label, voters in (("plain", 0), ("widened", VOTERS)):
                random, losses = np.random.default_rng(SEED + 1), Calibration([], [])
                held: dict[str, list[bool]] = {"delta": [], U_RISK: []}
                with patch("surefoot.judgments.unjudged.VOTERS", voters):
                    for case in collection.shallow(random, max(MORE_POOLS // less, 2), others):
                        _compare(case, losses, held)
                row |= {f"difference, {label}": float(np.mean(held["delta"])), f"{U_RISK}, {label}": _of(held[U_RISK])}
            for column, value in row.items():
                columns.setdefault(column, []).append(value)
    note = f"plain: as fitted; widened: the shared covariance times {VOTERS} / voting runs, as it ships"
    yield (
        "Intervals of 90 %, shallower pools, few runs vote",
        Result(signature("holes", n_draws=DRAWS), columns, (note,)),
    )


def _of(held: list[bool]) -> str:
    return f"{sum(held)} of {len(held)}"


def _compare(case: Case, losses: Calibration, inside: dict[str, list[bool]]) -> None:
    truth, draws = case.full.delta[case.order], np.subtract(*draw_values(case.pair, case.model, None, DRAWS))
    holed = np.array([own.unjudged.any() for own in case.pair.topics])
    losses.predicted.append((draws[:, holed] < -NO_CHANGE).mean(axis=0))
    losses.observed.append((truth[holed] < -NO_CHANGE).astype(float))
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    inside["delta"].extend(((low - NO_CHANGE <= truth) & (truth <= high + NO_CHANGE))[holed].tolist())
    value = Linear(1.0)
    low, high = np.quantile(value(draws).mean(axis=1), [0.05, 0.95])
    inside[U_RISK].append(bool(low - NO_CHANGE <= value(truth).mean() <= high + NO_CHANGE))


@dataclass
class Case:
    """A pair with some judgments, the model fitted to them, the pair with all, and its topics in the pair's order."""

    pair: JudgedPair
    model: GradeModel
    full: JudgedPair
    order: list[int]


@dataclass
class Collection:
    """A collection whose ranked documents are all judged."""

    measure: str
    grades: Grades
    rankings: Rankings
    runs: dict[str, Run]
    full: JudgedRuns

    @classmethod
    def read(cls, name: str) -> Collection:
        """A collection with its judgments."""
        return cls.of(read_grades(data() / FILES[name][0]), name)

    @classmethod
    def of(cls, grades: Grades, name: str) -> Collection:
        """The runs of a collection with some grades."""
        _, folder, pattern = FILES[name]
        return cls.between(read_rankings(data() / folder, pattern, grades), grades, MEASURES.get(name, "nDCG@10"))

    @classmethod
    def between(cls, rankings: Rankings, grades: Grades, measure: str) -> Collection:
        """Rankings with their grades."""
        runs = as_runs(rankings, list(rankings))
        return cls(measure, grades, rankings, runs, JudgedRuns.read(runs, as_qrels(grades), measure))

    def some(self, random: np.random.Generator, most: int) -> Collection:
        """With some of its runs, chosen at random."""
        names = sorted(random.permutation(list(self.rankings))[:most].tolist())
        return self.between({name: self.rankings[name] for name in names}, self.grades, self.measure)

    def shallow(self, random: np.random.Generator, pools: int, voters: int | None = None) -> Iterator[Case]:
        """Pairs of runs with the judgments of some shallower pools; all other runs vote, or only some of them."""
        for _ in range(pools):
            members = random.choice(list(self.runs), max(len(self.runs) // 4, 2), replace=False).tolist()
            kept = self.pooled(members)
            others = random.permutation([name for name in self.runs if name not in members]).tolist()
            pairs = list(zip(others[::2], others[1::2], strict=False))[:PAIRS]
            if voters is None:
                yield from self.cases(kept, pairs)
                continue
            for pair in pairs:
                rest = [name for name in self.runs if name not in pair]
                yield from self.cases(kept, [pair], [*pair, *random.choice(rest, voters, replace=False).tolist()])

    def without_group(self, random: np.random.Generator, candidates: int) -> Iterator[Case]:
        """Pairs of runs without the judgments of documents that only the candidate's group found."""
        names = list(self.runs)
        for candidate in random.permutation(names)[:candidates].tolist():
            others = [name for name in names if group_of(name) != group_of(candidate)] or [
                name for name in names if name != candidate
            ]
            kept = {
                topic: {
                    document: grade
                    for document, grade in own.items()
                    if document not in self.rankings[candidate][topic][:HEAD]
                    or any(document in self.rankings[name][topic][:HEAD] for name in others)
                }
                for topic, own in self.grades.items()
            }
            yield from self.cases(kept, [(candidate, str(random.choice(others)))])

    def pooled(self, members: list[str]) -> Grades:
        """The judgments that a shallow pool of some runs would have made."""
        return {
            topic: {d: g for d, g in own.items() if any(d in self.rankings[m][topic][:DEPTH] for m in members)}
            for topic, own in self.grades.items()
        }

    def cases(self, kept: Grades, pairs: list[tuple[str, str]], names: list[str] | None = None) -> Iterator[Case]:
        """Pairs with some judgments; all runs vote, or only those named."""
        runs = {name: self.runs[name] for name in names or self.runs}
        holed = JudgedRuns.read(runs, as_qrels(kept), self.measure)
        order = [self.full.topics.index(topic) for topic in holed.topics]
        for pair in pairs:
            own = holed.pair(*pair)
            yield Case(own, GradeModel.fit(holed, own), self.full.pair(*pair), order)


def group_of(run: str) -> str:
    """The group of a run: the letters that its name begins with."""
    return re.match(r"[A-Za-z]*", run).group().lower()  # type: ignore[union-attr]

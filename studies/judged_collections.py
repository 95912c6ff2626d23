"""Runs and judgments of public collections, cut down as the studies of judgments need it, and tables of calibration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studies.collections import nominal_bounds
from surefoot._typing import FloatArray
from surefoot.effectiveness.sources import load_qrels
from surefoot.io.document_lists import Qrels, Run
from surefoot.io.memory import run_in_memory
from surefoot.io.trec import read_run
from surefoot.results import Result, by_column, signature

DEPTH = 100
Grades = dict[str, dict[str, int]]
Rankings = dict[str, dict[str, list[str]]]
FILES = {
    "TREC-COVID round 1": ("trec-covid-r1/qrels.txt", "trec-covid-r1/runs", "*.gz"),
    "TREC DL 2019": ("trec-dl-2019/qrels.txt", "trec-dl-2019/runs", "*.gz"),
    "TREC Web 2012": ("trec-web-2012/qrels.adhoc.txt", "trec-web-2012", "*.run.gz"),
    "CODEC": ("codec/qrels.txt", "codec", "*.run.gz"),
    "DL-Hard": ("dl-hard/doc.qrels.txt", "dl-hard/doc", "*.run.gz"),
    "DL-Hard passages": ("dl-hard/passage.qrels.txt", "dl-hard/passage", "*.run.gz"),
}


def data() -> Path:
    """The folder of public collections."""
    if "SUREFOOT_DATA" not in os.environ:
        raise SystemExit("this study needs the public collections: SUREFOOT_DATA names their folder")
    return Path(os.environ["SUREFOOT_DATA"])


def read_grades(path: Path) -> Grades:
    """The grades of qrels by topic and document; below 0 is 0."""
    return {
        topic: {document: max(int(grade), 0) for document, grade in zip(own, grades.tolist(), strict=True)}
        for topic, own, grades in load_qrels(path).by_topic()
    }


def read_rankings(folder: Path, pattern: str, known: Grades) -> Rankings:
    """The judged documents of each run's first 100, in their order: condensed, so that all grades are known."""
    rankings = {}
    for path in sorted(folder.glob(pattern)):
        run = read_run(path, duplicates="first")
        rankings[run.name] = {
            topic: [document for document in list(run.of_topic(topic))[:DEPTH] if document in own]
            for topic, own in known.items()
        }
    return rankings


def as_runs(rankings: Rankings, names: Sequence[str]) -> dict[str, Run]:
    """Runs of rankings; topics without a document are left out."""
    return {
        name: run_in_memory(
            {t: {d: -float(rank) for rank, d in enumerate(own)} for t, own in rankings[name].items() if own},
            name,
            "error",
        )
        for name in names
    }


def as_qrels(grades: Mapping[str, Mapping[str, int]]) -> Qrels:
    """Qrels of grades."""
    return load_qrels({topic: dict(own) for topic, own in grades.items() if own})


@dataclass
class Calibration:
    """Probabilities with what happened, in ten bins."""

    predicted: list[FloatArray]
    observed: list[FloatArray]

    def table(self, kind: str, note: str) -> Result:
        """Mean prediction and observed rate of each bin, and the bounds of the rate if the prediction is right."""
        predicted, observed = np.concatenate(self.predicted), np.concatenate(self.observed)
        bins = np.minimum((10 * predicted).astype(int), 9)
        rows = []
        for number in range(10):
            inside = bins == number
            if not inside.any():
                continue
            n, mean, rate = int(inside.sum()), float(predicted[inside].mean()), float(observed[inside].mean())
            rows.append((f"{number / 10:.1f} to {(number + 1) / 10:.1f}", n, mean, rate, *_against(n, mean, rate)))
        names = ("p_loss", "n", "predicted", "observed", "bounds", "verdict")
        brier = float(np.mean((predicted - observed) ** 2))
        columns = by_column(rows, names)
        return Result(signature(kind, n=len(predicted)), columns, (note, f"Brier score {brier:.4f}"))


def coverage_table(kind: str, inside: Mapping[str, Sequence[bool]]) -> Result:
    """How often intervals of 90 % held the truth, and the bounds of the rate if they are right."""
    rows = []
    for name, held in inside.items():
        rate = float(np.mean(held))
        rows.append((name, len(held), int(np.sum(held)), rate, *_against(len(held), 0.9, rate)))
    names = ("interval", "n", "held", "rate", "bounds", "verdict")
    return Result(signature(kind, level=0.1), by_column(rows, names))


def _against(n: int, nominal: float, rate: float) -> tuple[str, str]:
    """The bounds of a rate of n trials that should be the nominal one, and where it is."""
    low, high = nominal_bounds(n, nominal)
    return f"{low:.3f} to {high:.3f}", "below" if rate < low else "above" if rate > high else "within"

"""The TREC 2012 Web track: per-topic scores of anonymous runs, identified by their printed means.

Urbano and Nagler (SIGIR 2018) published the scores of all runs on topics 151 to 200 in five measures, with numbered
columns and rows in the order of the topics. NIST prints each run's mean of the same measures. A column is identified
with a run if all five means agree to the printed digit.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from surefoot._typing import FloatArray, PathLike
from surefoot.errors import InputError, listed
from surefoot.io.atomic import write_text
from surefoot.io.tables import scores_csv
from surefoot.scores import Scores

PRINTED = {"ap": "map", "rr": "recip_rank", "p10": "P_10", "err20": "err", "ndcg20": "ndcg"}
"""The measures, as the score files and as the results page call them."""

TABLES = {"err20": "ERR@20", "ndcg20": "nDCG(dcg='exp-log2')@20"}
TOPICS = tuple(str(topic) for topic in range(151, 201))
BASELINE = "indriCASP"
DIGITS = 5
"""The decimals that gdeval prints."""

TOLERANCE = 6e-6
"""Tolerance beyond half a printed digit, because the scores were rounded too."""


def write_tables(folder: Path) -> tuple[str, ...]:
    """Write err20.csv and ndcg20.csv from the sources in a folder; returns the ambiguous names."""
    tables = named_scores(folder / "raw", folder / f"{BASELINE}.run.gz", folder / "qrels.adhoc.txt")
    for name, scores in tables.items():
        write_text(folder / f"{name}.csv", scores_csv(replace(scores, measure="score")))  # the published bytes
    return next(iter(tables.values())).notes


def named_scores(raw: Path, baseline_run: PathLike, qrels: PathLike) -> dict[str, Scores]:
    """ERR@20 and nDCG@20 of the 48 runs in the order of the score files, then of the baseline run."""
    columns = {measure: read_columns(raw / f"web2012_{measure}.csv") for measure in PRINTED}
    names, notes = match(columns, read_means(raw / "trec21-web-results.md"))
    baselines = _baseline_scores(baseline_run, qrels)
    return {
        table: Scores(np.vstack([columns[table], baselines[table]]), [*names, BASELINE], TOPICS, measure, notes)
        for table, measure in TABLES.items()
    }


def read_columns(path: Path) -> FloatArray:
    """Runs × topics of a file that has a run in each column and a topic in each row."""
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    try:
        matrix = np.array(rows, dtype=np.float64).T
    except ValueError as error:
        raise InputError(path, f"expected numbers in rows of equal length ({error}); fetch it again") from None
    if matrix.ndim != 2 or matrix.shape[1] != len(TOPICS):
        raise InputError(path, f"expected a row for each of {len(TOPICS)} topics, found {len(rows)}; fetch it again")
    return matrix


def read_means(path: Path) -> dict[str, dict[str, str]]:
    """The printed means of each run, as text."""
    _, *sections = re.split(r"^#### ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    line = re.compile(r"^\t(\w+)\s+all\s+(\S+)", re.MULTILINE)
    printed = {section.split()[0]: dict(line.findall(section)) for section in sections}
    lacking = [run for run, means in printed.items() if not means.keys() >= set(PRINTED.values())]
    if lacking or not printed:
        raise InputError(path, f"no means of {lacking[0] if lacking else 'any run'} in {', '.join(PRINTED.values())}")
    return printed


def match(
    columns: Mapping[str, FloatArray], printed: Mapping[str, Mapping[str, str]]
) -> tuple[list[str], tuple[str, ...]]:
    """A name for each column, and notes on ambiguous ones.

    The score files have the adhoc runs first and then the others, both sorted by name ignoring case; runs with the same
    means get their columns in that order. The notes say whether their scores differ.
    """
    count = len(next(iter(columns.values())))
    means = [{measure: float(rows[column].mean()) for measure, rows in columns.items()} for column in range(count)]
    fitting = [tuple(sorted((run for run in printed if _agree(own, printed[run])), key=str.lower)) for own in means]
    names: dict[int, str] = {}
    notes = []
    for candidates in dict.fromkeys(fitting):
        members = [column for column in range(count) if fitting[column] == candidates]
        if len(members) != len(candidates):
            runs = listed(candidates) or "no run"
            raise InputError("web2012_*.csv", f"columns {listed(members)} fit the means of {runs}; fetch both again")
        names.update(zip(members, candidates, strict=True))
        if len(members) > 1:
            notes.append(_ambiguity(candidates, members, columns))
    return [names[column] for column in range(count)], tuple(notes)


def _agree(means: Mapping[str, float], printed: Mapping[str, str]) -> bool:
    return all(_rounds_to(mean, printed[PRINTED[measure]], measure) for measure, mean in means.items())


def _rounds_to(mean: float, text: str, measure: str) -> bool:
    # gdeval drops trailing zeros (0.2992 for 0.29920), trec_eval does not.
    digits = DIGITS if measure in TABLES else len(text.partition(".")[2])
    return abs(mean - float(text)) <= 0.5 * 0.1**digits + TOLERANCE


def _ambiguity(names: Sequence[str], members: Sequence[int], columns: Mapping[str, FloatArray]) -> str:
    same = all((rows[members] == rows[members[0]]).all() for rows in columns.values())
    end = "and the same scores on every topic" if same else "but not the same scores: their columns may be swapped"
    return f"{' and '.join(names)} have the same means in all measures, {end}"


def _baseline_scores(run: PathLike, qrels: PathLike) -> dict[str, FloatArray]:
    from surefoot.effectiveness import score_runs_by

    found = score_runs_by([run], qrels, TABLES.values())
    return {table: found[measure].select(topics=TOPICS).values.round(DIGITS) for table, measure in TABLES.items()}

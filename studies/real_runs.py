"""The real collections of the studies, as scores: those that `SUREFOOT_DATA` names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from surefoot import Scores, read_scores
from surefoot.effectiveness import score_runs_by

RUNS = {
    "TREC-COVID r1": ("trec-covid-r1/runs", "trec-covid-r1/qrels.txt"),
    "TREC DL 2019": ("trec-dl-2019/runs", "trec-dl-2019/qrels.txt"),
    "DL-Hard": ("dl-hard/doc", "dl-hard/doc.qrels.txt"),
    "CODEC": ("codec", "codec/qrels.txt"),
}
MEASURES = ("nDCG@10", "AP", "RR@10")


def real_scores(measures: tuple[str, ...] = MEASURES) -> Iterator[tuple[str, Scores]]:
    """Each collection with its name: TREC 2012 by ERR@20 and NDCG@20, the others by each measure."""
    if "SUREFOOT_DATA" not in os.environ:
        raise SystemExit("this study needs public collections: set SUREFOOT_DATA to their folder")
    data = Path(os.environ["SUREFOOT_DATA"])
    for file, measure in (("err20.csv", "ERR@20"), ("ndcg20.csv", "NDCG@20")):
        yield "TREC Web 2012", read_scores(data / "trec-web-2012" / file, measure=measure)
    for name, (folder, qrels) in RUNS.items():
        runs = sorted(path for path in (data / folder).iterdir() if "qrels" not in path.name)
        for scores in score_runs_by(runs, data / qrels, measures).values():
            yield name, scores

"""Fit the disagreement that Surefoot ships, surefoot/judgments/dl2019.json: python -m studies.fit_dl2019 FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from studies.judged_collections import data
from surefoot.effectiveness.sources import load_qrels
from surefoot.judgments.assessors import Disagreement
from surefoot.judgments.judged_runs import JudgedRuns


def main() -> None:
    folder = data() / "trec-dl-2019"
    runs = JudgedRuns.read(sorted((folder / "runs").glob("*.gz")), folder / "qrels.txt")
    others = [load_qrels(folder / f"qrels.assessor-{name}.txt") for name in "ab"]
    found = Disagreement.fit(runs, others)
    again = {(topic, document) for topic, own, _ in others[0].by_topic() for document in own}
    first = [g for t, own, grades in runs.qrels.by_topic() for d, g in zip(own, grades, strict=True) if (t, d) in again]
    shares = np.bincount(np.array(first, int)) / len(first)
    stored = {
        "collection": "TREC 2019 Deep Learning track, passages: NIST's judgments and two further assessors",
        "citation": "Parry, Fröbe, Scells, Schlatt, Faggioli, Zerhoudi, MacAvaney and Yang, "
        '"Variations in relevance judgments and the shelf life of test collections", SIGIR 2025',
        "limits": "43 topics, passages, grades 0 to 3, votes of 61 runs; further assessors saw all that NIST called "
        "relevant, but only some of what it did not",
        "source": found.source,
        "shares": np.round(shares, 5).tolist(),
        "log_odds": np.round(found.log_odds, 4).tolist(),
        "votes": round(found.votes, 4),
        "ease": round(found.ease, 4),
        "spreads": [round(spread, 4) for spread in found.spreads],
        "covariance": np.round(found.covariance, 6).tolist(),
    }
    Path(sys.argv[1]).write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

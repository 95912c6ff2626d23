"""Scores that reports are made of."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surefoot import Scores
from surefoot.effectiveness import score_runs_by
from surefoot.show import Rankings

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(3)>',
    "__proto__",
    "constructor",
    '=HYPERLINK("http://example.com")',
    "$data ${alert(4)} {{5}}",
    'a,b"c\nd',
    "\u2028\u202eright to left",
    "javascript:alert(6)",
    "x" * 300,
    "half a letter \ud800",
)


def random_scores(systems: int = 12, topics: int = 30, seed: int = 3) -> Scores:
    """Scores with ties, zeros and systems alike, as real ones have."""
    random = np.random.default_rng(seed)
    values = np.round(np.clip(random.beta(0.6, 1.2, topics) + random.normal(0, 0.15, (systems, topics)), 0, 1), 2)
    return Scores(values, [f"s{i}" for i in range(systems)], [f"q{j}" for j in range(topics)], measure="nDCG@10")


def random_rankings(
    folder: Path,
    measures: Sequence[str] = ("nDCG@10",),
    systems: Sequence[str] = ("old", "new"),
    topics: Sequence[str] = ("q1", "q2", "q3", "q4"),
    depth: int = 40,
) -> tuple[list[Scores], Rankings]:
    """Runs of which some documents are the same, judgments that lack some, and the scores by each measure."""
    random = np.random.default_rng(7)
    judgments, lines = [], {system: list[str]() for system in systems}
    for topic in topics:
        pool = [f"{topic}-d{number:02}" for number in range(depth + 20)]
        judgments += [f"{topic} 0 {name} {random.integers(0, 4)}\n" for name in pool if random.random() < 0.7]
        for system in systems:
            ranked = np.array(pool)[np.argsort(np.arange(len(pool)) + random.normal(0, 6, len(pool)))][:depth]
            lines[system] += [f"{topic} Q0 {name} {k} {depth - k} {system}\n" for k, name in enumerate(ranked)]
    (folder / "qrels.txt").write_text("".join(judgments))
    for system, run in lines.items():
        (folder / f"{system}.run").write_text("".join(run))
    paths = [folder / f"{system}.run" for system in systems]
    scores = score_runs_by(paths, folder / "qrels.txt", measures)
    return list(scores.values()), Rankings.read(paths, folder / "qrels.txt")

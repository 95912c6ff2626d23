"""Pairs of systems with the verdicts that version 0.2 gave on them.

`strict-verdicts.json` holds the verdicts of the code of version 0.2 (commit a2ac547), without doubt about judgments. To
write it again, run this module with that code: ``PYTHONPATH=OLD/src:. python -m tests.release_gate.strict_pairs``.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from surefoot import GateResult, Scores, gate, read_scores, score_runs

GOLDEN = Path(__file__).parent / "strict-verdicts.json"

WEB = (
    ("ICTNET12ADR2", "ICTNET12ADR3"), ("indriCASP", "uogTrA44xi"), ("uogTrA44xi", "indriCASP"), ("irra12a", "irra12b"),
    ("irra12c", "irra12a"), ("lcmweb", "lcmweb10p"), ("lcmwebnoW", "lcmweb"), ("QUTparaBline", "QUTparaTQEg1"),
    ("DFalah120A", "DFalah121A"), ("2012bpacad4", "2012bpacad8"), ("utw2012c2", "utw2012fc1"), ("qutwa", "qutwb"),
    ("DMthbCatB", "srchvrs12c09"), ("srchvrs12c09", "MEAN"), ("irra12a", "MEDIAN"),
)  # fmt: skip
PASSAGE = (
    "bm25base_p", "bm25base_rm3_p", "bm25tuned_p", "idst_bert_p1", "p_bert", "p_exp_bert", "test1",
    "tirex_rankgpt4o", "tirex_monoelectra-base",
)  # fmt: skip
SHAPES = {
    "normal": lambda random, n: 0.1 * random.standard_normal(n),
    "sparse": lambda random, n: np.where(random.random(n) < 0.15, random.uniform(-0.5, 0.5, n), 0.0),
    "tail": lambda random, n: np.where(random.random(n) < 0.08, -0.6, 0.05),
    "binary": lambda random, n: random.integers(-1, 2, n) * (random.random(n) < 0.2),
}
MOVED = {"worse": -0.06, "same": 0.0, "better": 0.05}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"alpha": 5},
    {"level": 0.1, "off": ["tail"], "mean_tolerance": 0.03},
    {"protected": ["3", "8"], "max_losses": 0.3},
)


def random_cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables of random scores, of 30 to 3,000 topics."""
    names = [(shape, moved) for shape in SHAPES for moved in MOVED]
    for number, (shape, moved) in enumerate(names * 3):
        random, n = np.random.default_rng(number), (30, 300, 3000)[number // len(names)]
        base = random.uniform(0.3, 0.7, n)
        new, other = (np.clip(base + MOVED[moved] + SHAPES[shape](random, n), 0, 1) for _ in range(2))
        scores = Scores([base, new, other], ["old", "new", "other"], range(n), "nDCG@10")
        case: dict[str, Any] = {"scores": scores, "baseline": "old", "rules": OPTIONS[number % 4]}
        if number % 5 == 1:
            case["segments"] = {str(topic): f"s{topic % 3}" for topic in range(n)}
        if number % 7 == 2:
            case["tries"] = number
        if number % 6 == 3:
            case["baseline"] = ["old", "other"]
        yield f"{n} topics, {shape}, {moved}", case
    ties = Scores([[0.5, 0.4] * 200] * 2, ["old", "new"], range(400), "RR")
    moved_up = Scores([[0.5, 0.4] * 200, [0.6, 0.5] * 200], ["old", "new"], range(400), "nDCG@10")
    yield "equal scores", {"scores": ties, "baseline": "old"}
    yield "one of two measures equal", {"scores": [moved_up, ties], "baseline": "old"}


def trec_cases(data: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """TREC Web 2012, ERR@20, and the passages of TREC DL 2019, nDCG@10."""
    web = read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")
    for candidate, baseline in WEB:
        yield f"{candidate} against {baseline}", {"scores": web, "candidate": candidate, "baseline": baseline}
    folder = data / "trec-dl-2019"
    passages = score_runs([folder / "runs" / f"{name}.run.gz" for name in PASSAGE], folder / "qrels.txt", "nDCG@10")
    for baseline, candidate in zip(passages.systems, passages.systems[1:], strict=False):
        for own, base in ((candidate, baseline), (baseline, candidate)):
            yield f"{own} against {base}", {"scores": passages, "candidate": own, "baseline": base}


def summary(result: GateResult) -> str:
    """The verdict, and that of each rule."""
    return f"{result.verdict}: {', '.join(sorted(f'{one.rule} {one.verdict}' for one in result.findings))}"


if __name__ == "__main__":
    every = [*random_cases(), *trec_cases(Path(os.environ["SUREFOOT_DATA"]))]
    found = {name: summary(gate(**{"candidate": "new"} | case)) for name, case in every}
    assert len(found) == len(every)
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n")

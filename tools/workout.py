"""Small work that calls every kernel with the types of arguments that commands give it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import surefoot as sf
from surefoot.io.trec_writer import written_run

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n"
RUN = "q1 Q0 d{} 1 2.5 x\nq1 Q0 d2 2 1.5 x\nq2 Q0 d3 1 2.5 x\n"
LETOR = "".join(f"{row % 3} qid:{row // 8} 1:0.{row} 2:{row % 5} # docid = d{row}\n" for row in range(64))


def workout() -> None:
    with TemporaryDirectory() as name:
        evaluate(Path(name))
        learn(Path(name))


def evaluate(folder: Path) -> None:
    qrels, one, two, twice = (folder / name for name in ("qrels.txt", "one.run", "two.run", "twice.run"))
    qrels.write_text(QRELS)
    for file, document in ((one, 1), (two, 7), (twice, 2)):
        file.write_text(RUN.format(document))
    scores = sf.score_runs([one, two], qrels, "nDCG@10")
    sf.score_runs({"one": {"q1": {"d1": 1.0}}}, {"q1": {"d1": 1}}, "RR")
    sf.read_run(twice, names="tag", duplicates="best")
    sf.evaluate(scores, "one", ci="percentile", n_resamples=100)
    written_run(sf.Guard("log-rank", 0.35).apply(one, two))
    judged = sf.judgments.JudgedRuns.read([one, two], qrels, "nDCG@10")
    sf.judgments.delta_bounds(judged.pair("two", "one"))
    sf.credibility(judged, "two", "one")
    sf.next_judgments(judged, "two", "one")


def learn(folder: Path) -> None:
    file = folder / "train.txt"
    file.write_text(LETOR)
    data = sf.read_letor(file, cache=False)
    settings = sf.learn.Settings(objective="georisk", n_estimators=2, min_child_samples=1)
    sf.learn.train(data, "feature:1", settings)

"""surefoot predict: rank documents with a trained model, or with a baseline of the data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli.outputs import add_file

if TYPE_CHECKING:
    from surefoot.learn.data import RankingData
    from surefoot.learn.models import Model
    from surefoot.scores import FloatArray

EXAMPLES = """examples:
  surefoot predict model/ test.txt -o new.run --write-qrels test.qrels
  surefoot predict feature:110 test.txt -o bm25.run                      (the baseline's own ranking)
  surefoot evaluate new.run bm25.run --qrels test.qrels --measure "nDCG(dcg='exp-log2')@10" --baseline bm25"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument(
        "model", metavar="MODEL", help="folder that `surefoot train` wrote, or feature:N, -feature:N, rank:N or order"
    )
    parser.add_argument("data", nargs="+", metavar="FILE", help="LETOR files of the documents to rank")
    parser.add_argument(
        "--baseline", metavar="WHAT", help="of a guarded model whose baseline is no feature: run:FILE, scores:FILE or "
        "model:PATH, for these documents"
    )  # fmt: skip
    add_file(parser, "--write-qrels", metavar="FILE", help="write the labels too, as judgments of the run")
    add_file(parser, "-o", "--output", required=True, metavar="FILE", help="where to write the TREC run")


def run(arguments: argparse.Namespace) -> int:
    """Read, rank, write."""
    from surefoot.io.atomic import write_text
    from surefoot.io.files import name_of
    from surefoot.io.letor import read_letor
    from surefoot.io.trec_writer import labelled_documents, qrels_lines, ranked_documents, run_lines

    ranker = _ranker(arguments.model)
    data = read_letor(arguments.data)
    data, scores = _rank(ranker, data, arguments.baseline)
    if data.documents is None:
        print("note: the data has no document ids; documents are named by query and place", file=sys.stderr)
    tag = "-".join(name_of(Path(arguments.output)).split())
    write_text(arguments.output, "".join(run_lines(ranked_documents(data, scores), tag)))
    if arguments.write_qrels:
        write_text(arguments.write_qrels, "".join(qrels_lines(labelled_documents(data))))
    print(f"{arguments.output}: {data!r}{_effectiveness(ranker, data, scores)}")
    return 0


def _ranker(name: str) -> Model | str:
    """A model, or the name of a baseline that is in the data."""
    if name == "order" or name.partition(":")[0] in ("feature", "-feature", "rank"):
        return name
    from surefoot.learn.models import load_model

    return load_model(name)


def _rank(ranker: Model | str, data: RankingData, baseline: str | None) -> tuple[RankingData, FloatArray]:
    """The data as the ranker knows them, and its scores."""
    if isinstance(ranker, str):
        from surefoot.learn.baseline import baselines_of

        return data, baselines_of(ranker, data).ranking("predict")
    aligned = ranker.align(data)
    if ranker.card["data"]["first_feature"] is None and aligned is not data:
        print(
            f"note: the model knows features by place; the first is taken to be number {aligned.first_feature}",
            file=sys.stderr,
        )
    return aligned, ranker.predict(aligned, baseline=baseline)


def _effectiveness(ranker: Model | str, data: RankingData, scores: FloatArray) -> str:
    """The mean of the metric that the model was trained for, under the name that `evaluate --measure` takes."""
    from surefoot.learn.metrics import Metric
    from surefoot.learn.settings import Settings

    if not data.labels.any():
        return ""
    settings = Settings() if isinstance(ranker, str) else ranker.settings
    metric = Metric.reported(settings).bind(data.labels, data.bounds, settings.empty)
    return f", {metric.metric} {metric(scores)[metric.counted].mean():.4f}"

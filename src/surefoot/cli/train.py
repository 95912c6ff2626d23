"""surefoot train: learn a ranker that avoids risk."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.learn.training import Settings, Trained
    from surefoot.learn.watching import Progress
    from surefoot.ranking_data import RankingData

CHECKPOINT = "checkpoint.json"
QUIET = 30.0
"""Seconds between two lines of progress where nobody is looking at a terminal."""

EXAMPLES = """examples:
  surefoot train --train train.txt --valid vali.txt --objective ucro --alpha 2 --baseline feature:110 -o model/
  surefoot train --train train.txt.gz --valid vali.txt.gz --objective georisk --baseline run:bm25.run \\
      --baseline model:old/ --early-stopping 50 -o model/
  surefoot train --safe --train train.txt --valid vali.txt --baseline feature:110 -o model/     (a recipe to begin with)
  surefoot train ... -o model/ --resume          (after Ctrl-C or a crash: goes on to the same model)

The model is a plain LightGBM or XGBoost file with a card beside it. Rank with `surefoot predict`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of this command."""
    data = parser.add_argument_group("data")
    data.add_argument("--train", nargs="+", required=True, metavar="FILE", help="LETOR files to learn from")
    data.add_argument("--valid", nargs="+", metavar="FILE", help="LETOR files to choose the best iteration on")
    data.add_argument(
        "--baseline",
        action="append",
        metavar="WHAT",
        help="feature:N, run:FILE, scores:FILE or model:DIR; once for each baseline",
    )
    data.add_argument(
        "--missing", choices=("error", "last"), default="error", help="documents that a run lacks (default: error)"
    )
    parser.add_argument(
        "--safe",
        action=_Safe,
        help="a recipe to begin with: ucro at alpha 1, 3 bags of at most 600 small trees, leaning on the baseline by "
        "0.15; other words change it",
    )
    _add_objective(parser.add_argument_group("objective"))
    trees = parser.add_argument_group("trees")
    add_trees(trees)
    trees.add_argument(
        "--bags",
        type=int,
        default=1,
        metavar="N",
        help="average N trainings, each tree of which sees a part of the documents and features (default: 1)",
    )
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in the output folder")
    parser.add_argument("--cluster", metavar="ADDRESS", help="train on the Dask cluster of this scheduler, as "
                        "tcp://10.0.0.1:8786; needs --engine xgboost")  # fmt: skip
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the model and its card")


def _add_objective(group: Any) -> None:
    group.add_argument(
        "--objective",
        default="ucro",
        metavar="NAME",
        help="lambdamart, ucro, ucro-eq9, smooth, saro, saro-eq9, faro, tstar-faro, georisk, georisk-full, tail or "
        "churn (default: ucro)",
    )
    inputs.add_alpha(group, several=False)
    add_pairs(group)


def add_pairs(group: Any) -> None:
    """The words for how pairs of documents are weighed, shared with the commands that train many models."""
    group.add_argument("--option", action="append", default=[], metavar="K=V", help="of the objective, as spread=se")
    group.add_argument("--metric", choices=("ndcg", "map", "mrr", "err"), default="ndcg", help="(default: ndcg)")
    group.add_argument("--cutoff", type=int, default=10, metavar="K", help="of the reported NDCG (default: 10)")
    group.add_argument("--truncation", type=depth, default=30, metavar="N", help="pairs need a document above this "
                       "rank; all: every pair (default: 30)")  # fmt: skip
    group.add_argument(
        "--empty", choices=("zero", "one", "drop"), default="zero",
        help="what a query without relevant documents counts (default: zero)",
    )  # fmt: skip


def add_trees(group: Any) -> None:
    """The words for trees, shared with the commands that train many models."""
    group.add_argument("--engine", choices=("lightgbm", "xgboost"), default="lightgbm", help="(default: lightgbm)")
    group.add_argument("--trees", type=int, default=500, metavar="N", help="at most (default: 500)")
    group.add_argument("--leaves", type=int, default=31, metavar="N", help="of a tree (default: 31)")
    group.add_argument("--rate", type=inputs.number, default=0.1, metavar="R", help="learning rate (default: 0.1)")
    group.add_argument(
        "--docs-per-leaf", type=int, default=20, metavar="N", help="at least; LightGBM only (default: 20)"
    )
    group.add_argument("--early-stopping", type=int, metavar="N", help="stop after N iterations without a better one")
    group.add_argument("--stop-on", metavar="FIGURE", help="mean, urisk, trisk, georisk, tail, frisk, freward, "
                       "losses or loss20 of the validation queries (default: urisk)")  # fmt: skip
    group.add_argument("--lean", type=inputs.number, default=0.0, metavar="SHARE", help="add this share of the "
                       "score of a baseline that is a feature; LightGBM only (default: 0)")  # fmt: skip
    group.add_argument("--param", action="append", default=[], metavar="K=V", help="any other parameter of the engine")
    group.add_argument("--seed", type=int, default=0, metavar="S", help="(default: 0)")
    group.add_argument("--threads", type=int, metavar="N", help="(default: all cores)")


class _Safe(argparse.Action):
    """Sets the words of the recipe; what else is on the command line, before or after it, changes them."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **more)

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        from surefoot.learn.bagging import SAFE, SAFE_BAGS

        params = dict(SAFE.params)
        recipe = {
            "objective": SAFE.objective,
            "alpha": SAFE.alpha,
            "bags": SAFE_BAGS,
            "trees": SAFE.n_estimators,
            "early_stopping": SAFE.early_stopping_rounds,
            "stop_on": SAFE.stop_on,
            "lean": SAFE.lean,
            "rate": params.pop("learning_rate"),
            "leaves": params.pop("num_leaves"),
            "docs_per_leaf": params.pop("min_child_samples"),
            "seed": params.pop("seed"),
        }
        for word, value in recipe.items():
            if getattr(namespace, word) == parser.get_default(word):
                setattr(namespace, word, value)
        namespace.param = [*(f"{key}={value}" for key, value in params.items()), *namespace.param]


def depth(text: str) -> int | None:
    """A rank, or None for all."""
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a rank of 1 or more, or all; got {text!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Read, train, save, tell."""
    from surefoot.learn.bagging import bag_checkpoint, train_bags
    from surefoot.read.letor import read_letor, same_features

    settings = settings_of(arguments)
    output = Path(arguments.output)
    checkpoint = output / CHECKPOINT
    _check(arguments, output, checkpoint)
    data = read_letor(arguments.train)
    valid = None
    if arguments.valid:
        data, valid = same_features([data, read_letor(arguments.valid)])
    output.mkdir(parents=True, exist_ok=True)
    try:
        if arguments.cluster:
            trained = _on_cluster(arguments, settings, data, valid)
        else:
            with _progress(settings) as report:
                trained = train_bags(
                    settings, arguments.bags, data, arguments.baseline, valid, missing=arguments.missing,
                    checkpoint=checkpoint, resume=arguments.resume, report=report,
                )  # fmt: skip
    except KeyboardInterrupt:
        if checkpoint.exists():
            print(f"{checkpoint} keeps what is done; go on with --resume", file=sys.stderr)
        raise
    trained.model.save(output)
    for bag in range(arguments.bags):
        bag_checkpoint(checkpoint, bag).unlink(missing_ok=True)
    _tell(trained, data, output)
    return 0


def _on_cluster(
    arguments: argparse.Namespace, settings: Settings, data: RankingData, valid: RankingData | None
) -> Trained:
    """The rows go to the workers from here; tables that lie with the workers are for `surefoot.cluster.dask`."""
    from surefoot.cluster.dask import connected, train_data

    with connected(arguments.cluster) as client:
        return train_data(client, settings, data, arguments.baseline, valid, arguments.missing)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """What to train, of the words given."""
    from surefoot.learn.boosting import Lambda
    from surefoot.learn.training import Settings, tree_params

    trees = tree_params(
        arguments.engine, arguments.rate, arguments.leaves, arguments.docs_per_leaf, arguments.seed
    )  # fmt: skip
    return Settings(
        arguments.objective,
        arguments.alpha,
        dict(map(pair, arguments.option)),
        Lambda(arguments.metric, arguments.truncation, empty=arguments.empty),
        arguments.cutoff,
        arguments.trees,
        {**trees, **dict(map(pair, arguments.param))},
        arguments.early_stopping,
        arguments.stop_on,
        arguments.engine,
        arguments.threads,
        arguments.lean,
    )


def pair(text: str) -> tuple[str, Any]:
    """K=V, with V a number, true or false where it looks like one."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise SurefootError(f"expected K=V, as spread=se; got {text!r}")
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            continue
    return key, {"true": True, "false": False}.get(value.lower(), value)


def _check(arguments: argparse.Namespace, output: Path, checkpoint: Path) -> None:
    """Say at once what would fail after the data are read, or overwrite what is there."""
    from surefoot.learn.models import CARD

    if arguments.early_stopping and not arguments.valid:
        raise SurefootError("early stopping needs validation queries; give them with --valid FILE")
    if arguments.cluster and arguments.bags > 1:
        raise SurefootError("bags are not trained on a cluster; leave out --bags, or --cluster")
    if arguments.resume and not checkpoint.exists():
        what = "is finished" if (output / CARD).exists() else "has no checkpoint yet"
        raise SurefootError(f"{output} {what}; train without --resume")
    if checkpoint.exists() and not arguments.resume:
        raise SurefootError(f"{checkpoint} is of a training that was stopped; go on with --resume, or remove it")


def _tell(trained: Trained, data: RankingData, output: Path) -> None:
    from surefoot.learn.judging import describe

    card = trained.model.card
    for note in card["notes"]:
        print(f"note: {note}", file=sys.stderr)
    print(f"{output}: {card['trees']} trees, {card['objective']} at alpha {card['alpha']:g}, from {data!r}")
    if "validation" in card:
        print(f"  validation: {describe(card['validation'], card['metric'])}")
    print(f"  rank with it: surefoot predict {output} TEST.txt -o {output.name}.run")


@contextmanager
def _progress(settings: Settings) -> Iterator[Callable[[Progress], None]]:
    """A bar where someone may be looking, else a line now and then."""
    from surefoot.learn.judging import describe
    from surefoot.learn.lambdas import will_compile

    metric = str(settings.reported())
    first = "Compiling the kernels, once" if will_compile() else "Training"
    if not sys.stderr.isatty():
        yield _Lines(metric)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=settings.n_estimators)
        yield lambda at: bar.update(task, completed=at.iteration, description=describe(at.figures, metric))


class _Lines:
    """A line of progress now and then, for logs."""

    def __init__(self, metric: str) -> None:
        self.metric, self.last = metric, time.monotonic()

    def __call__(self, at: Progress) -> None:
        from surefoot.learn.judging import describe

        if time.monotonic() - self.last >= QUIET:
            self.last = time.monotonic()
            left = f"{at.seconds_left:.0f} s left"
            print(f"{at.iteration}/{at.rounds}: {describe(at.figures, self.metric)}, {left}", file=sys.stderr)

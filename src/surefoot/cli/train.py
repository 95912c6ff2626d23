"""surefoot train: learn a ranker that avoids risk."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli.progress import progress, time_left
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.learn.data import RankingData
    from surefoot.learn.early_stopping import Progress
    from surefoot.learn.training import Settings, Trained

CHECKPOINT = "checkpoint.json"
RECIPE = (
    "objective", "alpha", "bags", "trees", "early_stopping", "stop_on", "lean", "rate", "leaves", "docs_per_leaf",
    "seed", "param",
)  # fmt: skip
"""The words that --safe sets."""

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
        action="store_true",
        help="a recipe to begin with, for one baseline that is a feature, with --valid: 12 bags of many "
        "small trees, stopped on the mean, leaning on the baseline; other words, as --alpha 1, change it",
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
    trees.add_argument(
        "--lean",
        type=inputs.number,
        default=0.0,
        metavar="SHARE",
        help="add the score of a baseline that is a feature, divided by the rank that it gives: to its first document "
        "this share of the spread of the model's own scores (default: 0)",
    )
    _leave_open(parser)
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
    group.add_argument(
        "--alpha",
        type=inputs.number,
        default=1.0,
        metavar="A",
        help="risk sensitivity: a loss weighs 1 + alpha (default: 1)",
    )
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
    group.add_argument("--param", action="append", default=[], metavar="K=V", help="any other parameter of the engine")
    group.add_argument("--seed", type=int, default=0, metavar="S", help="(default: 0)")
    group.add_argument("--threads", type=int, metavar="N", help="(default: all cores)")


def _leave_open(parser: argparse.ArgumentParser) -> None:
    """Leave the words of the recipe unset unless they are typed: `_settle` then knows which were."""
    usual = {}
    for action in parser._actions:
        if action.dest in RECIPE:
            usual[action.dest], action.default = action.default, argparse.SUPPRESS
    parser.set_defaults(usual=usual)


def _settle(arguments: argparse.Namespace) -> None:
    """Set the words that were not typed: as usual, or as in the recipe."""
    for word, value in (_recipe() if arguments.safe else arguments.usual).items():
        if not hasattr(arguments, word):
            setattr(arguments, word, value)
        elif word == "param":
            arguments.param = [*value, *arguments.param]


def _recipe() -> dict[str, Any]:
    from surefoot.learn.bagging import SAFE, SAFE_BAGS

    params = dict(SAFE.params)
    own = [params.pop(name) for name in ("learning_rate", "num_leaves", "min_child_samples", "seed")]
    more = [f"{key}={value}" for key, value in params.items()]
    given = [SAFE.objective, SAFE.alpha, SAFE_BAGS, SAFE.n_estimators, SAFE.early_stopping_rounds, SAFE.stop_on]
    return dict(zip(RECIPE, [*given, SAFE.lean, *own, more], strict=True))


def depth(text: str) -> int | None:
    """A rank, or None for all."""
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a rank of 1 or more, or all; got {text!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Read, train, save, tell."""
    from surefoot.io.letor import read_letor, same_features
    from surefoot.learn.bagging import train_bags

    _settle(arguments)
    settings = replace(settings_of(arguments), lean=arguments.lean)
    output = Path(arguments.output)
    checkpoint = output / CHECKPOINT
    _check(arguments, output, checkpoint)
    data = read_letor(arguments.train)
    valid = None
    if arguments.valid:
        data, valid = same_features([data, read_letor(arguments.valid)])
    if not arguments.resume:
        _remove_checkpoints(checkpoint)  # those of later bags may be there without the first
    try:
        if arguments.cluster:
            trained = _on_cluster(arguments, settings, data, valid)
        else:
            with _progress(settings) as report:
                trained = train_bags(
                    settings, arguments.bags, data, arguments.baseline, valid,
                    missing=arguments.missing, checkpoint=checkpoint, resume=arguments.resume, report=report,
                )  # fmt: skip
    except KeyboardInterrupt:
        if checkpoint.exists():
            print(f"{checkpoint} keeps what is done; go on with --resume", file=sys.stderr)
        raise
    trained.model.save(output)
    _remove_checkpoints(checkpoint)
    _tell(trained, data, output)
    return 0


def _remove_checkpoints(first: Path) -> None:
    for path in [first, *first.parent.glob(f"{first.stem}-*{first.suffix}")]:
        path.unlink(missing_ok=True)


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

    if not arguments.valid and (arguments.early_stopping or arguments.stop_on):
        raise SurefootError("stopping early, or at the best iteration, needs validation queries; give --valid FILE")
    if arguments.cluster and (arguments.engine, arguments.bags, arguments.lean) != ("xgboost", 1, 0):
        raise SurefootError("a cluster trains one XGBoost model; say --engine xgboost --bags 1 --lean 0")
    if arguments.engine != "lightgbm" and arguments.bags > 1:
        raise SurefootError("bags are for LightGBM; say --bags 1")
    if arguments.resume and not checkpoint.exists():
        what = "is finished" if (output / CARD).exists() else "has no checkpoint yet"
        raise SurefootError(f"{output} {what}; train without --resume")
    if checkpoint.exists() and not arguments.resume:
        raise SurefootError(f"{checkpoint} is of a training that was stopped; go on with --resume, or remove it")


def _tell(trained: Trained, data: RankingData, output: Path) -> None:
    from surefoot.learn.validation import describe

    card = trained.model.card
    for note in card["notes"]:
        print(f"note: {note}", file=sys.stderr)
    print(f"{output}: {card['trees']} trees, {card['objective']} at alpha {card['alpha']:g}, from {data!r}")
    if "lean" in card:
        print(f"  leans on feature {card['lean']['feature']}; card.json says what it adds to the scores of the trees")
    if "validation" in card:
        print(f"  validation: {describe(card['validation'], card['metric'])}")
    print(f"  rank with it: surefoot predict {output} TEST.txt -o {output.name}.run")


@contextmanager
def _progress(settings: Settings) -> Iterator[Callable[[Progress], None]]:
    """Tells what a training comes to on the validation queries."""
    from surefoot.learn.lambdas import will_compile
    from surefoot.learn.validation import describe

    metric = str(settings.reported())
    with progress("Compiling the kernels, once" if will_compile() else "Training") as tell:

        def report(at: Progress) -> None:
            figures = f"{describe(at.figures, metric)}, {time_left(at.seconds_left)}"
            tell(at.iteration, at.rounds, f"{at.iteration}/{at.rounds}: {figures}")

        yield report

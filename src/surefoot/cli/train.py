"""surefoot train: learn a ranker that avoids risk."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli.outputs import NewModel, add_file
from surefoot.cli.progress import progress, time_left
from surefoot.cli.training_options import PAIRS, TREES, add_baselines, add_settings, settings_from
from surefoot.errors import counted

if TYPE_CHECKING:
    from surefoot.learn.early_stopping import Progress
    from surefoot.learn.settings import Settings
    from surefoot.learn.training_run import Trained

OBJECTIVE = ("learner", "objective", "alpha", *PAIRS)
MODEL = ("query_feature", "n_bags", "guard", "max_loss")
SIZES = {"queries": "query", "documents": "document", "features": "feature"}

EXAMPLES = """examples:
  surefoot train --train train.txt --valid vali.txt --objective ucro --alpha 2 --baseline feature:110 -o model/
  surefoot train --train train.txt.gz --valid vali.txt.gz --objective georisk --baseline run:bm25.run \\
      --baseline model:old/ --early-stopping 50 -o model/
  surefoot train --train train.txt --learner afs --objective georisk --baseline feature:110 --baseline order -o linear/
  surefoot train --safe --train train.txt vali.txt --baseline feature:110 -o model/             (a recipe to begin with)
  surefoot train ... -o model/ --resume          (after Ctrl-C or a crash: goes on to the same model)

The model is a plain LightGBM or XGBoost file, or one of weights, with a card. Rank with `surefoot predict`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    data = parser.add_argument_group("data")
    data.add_argument("--train", nargs="+", required=True, metavar="FILE", help="LETOR files to learn from")
    data.add_argument("--valid", nargs="+", metavar="FILE", help="LETOR files to choose the best iteration on")
    add_baselines(data, "once for each baseline", ["valid"])
    parser.add_argument(
        "--safe",
        action="store_true",
        help="a recipe to begin with, for one baseline: 8 bags of small trees for the mean, each stopped on queries "
        "that it holds out, and a guard fitted on those; other options, as --alpha 1, change it",
    )
    add_settings(parser.add_argument_group("objective"), OBJECTIVE)
    add_settings(parser.add_argument_group("trees"), (*TREES, *MODEL))
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in the output folder; "
                        "with --cluster also to keep one, the folder being one that all workers see")  # fmt: skip
    parser.add_argument("--cluster", metavar="ADDRESS", help="train on the Dask cluster of this scheduler, as "
                        "tcp://10.0.0.1:8786; needs --engine xgboost")  # fmt: skip
    folder = "folder for the model and its card"
    add_file(parser, "-o", "--output", kind=NewModel, required=True, metavar="DIR", help=folder)


def run(arguments: argparse.Namespace) -> int:
    """Read, train, save, print."""
    settings = train_settings(arguments)
    _validate(arguments, settings)
    trained = (_train_on_cluster if arguments.cluster else _train)(arguments, settings)
    _print(trained.model.card, Path(arguments.output))
    return 0


def train_settings(arguments: argparse.Namespace) -> Settings:
    """The settings that were asked for: the defaults or the recipe, with what was given."""
    from surefoot.learn.recipes import SAFE

    return settings_from(arguments, (*OBJECTIVE, *TREES, *MODEL), SAFE if arguments.safe else None)


def _validate(arguments: argparse.Namespace, settings: Settings) -> None:
    """Tell at once what would fail after the data are read."""
    from surefoot.learn.early_stopping import validate_stopping
    from surefoot.learn.training import validate_output

    validate_stopping(settings, bool(arguments.valid) or settings.n_bags > 1)
    if arguments.cluster:
        from surefoot.cluster.worker import validate_cluster_settings

        validate_cluster_settings(settings)
    validate_output(arguments.output, arguments.resume)


def _train(arguments: argparse.Namespace, settings: Settings) -> Trained:
    from surefoot.io.letor import read_letor
    from surefoot.learn.training import CHECKPOINT, train

    checkpoint = Path(arguments.output) / CHECKPOINT
    data = read_letor(arguments.train)
    valid = read_letor(arguments.valid) if arguments.valid else None
    try:
        with _progress(settings) as report:
            return train(
                data, arguments.baseline, settings, valid=valid, valid_baseline=arguments.valid_baseline,
                missing=arguments.missing, output=arguments.output, resume=arguments.resume, report=report,
            )  # fmt: skip
    except KeyboardInterrupt:
        if checkpoint.exists():
            print(f"{checkpoint} keeps what is done; go on with --resume", file=sys.stderr)
        raise


def _train_on_cluster(arguments: argparse.Namespace, settings: Settings) -> Trained:
    """The rows go to the workers from here; for tables that lie with the workers there is `surefoot.cluster.dask`."""
    from surefoot.cluster.dask import connect, train_data
    from surefoot.io.atomic import remove
    from surefoot.io.letor import read_letor
    from surefoot.learn.training import CHECKPOINT

    checkpoint = Path(arguments.output) / CHECKPOINT if arguments.resume else None
    data = read_letor(arguments.train)
    valid = read_letor(arguments.valid) if arguments.valid else None
    with connect(arguments.cluster) as client:
        trained = train_data(
            client, data, arguments.baseline, settings, valid=valid, valid_baseline=arguments.valid_baseline,
            missing=arguments.missing, checkpoint=checkpoint,
        )  # fmt: skip
    trained.model.save(arguments.output)
    if checkpoint is not None:
        remove(checkpoint)
    return trained


def _print(card: Mapping[str, Any], output: Path) -> None:
    from surefoot.learn.validation import describe

    settings, data = card["settings"], card["data"]
    for note in card["notes"]:
        print(f"note: {note}", file=sys.stderr)
    size = ", ".join(counted(data[key], noun) for key, noun in SIZES.items())
    linear = card["engine"]["name"] == "linear"
    grown = f"{settings['learner']} in {counted(card['trees'], 'step')}" if linear else f"{card['trees']} trees"
    print(f"{output}: {grown}, {_objective(settings)}, from RankingData({size})")
    if "unguarded" in card:
        _print_guard(card)
    elif "validation" in card:
        print(f"  validation: {describe(card['validation'], card['metric'])}")
    print(f"  rank with it: surefoot predict {output} TEST.txt -o {output.name}.run")


def _objective(settings: Mapping[str, Any]) -> str:
    """What was trained for; plain LambdaMART knows no alpha, and U-CRO at alpha 0 is the same."""
    name, alpha = settings["objective"], settings["alpha"]
    return "lambdamart" if name == "lambdamart" or (name, alpha) == ("ucro", 0) else f"{name} at alpha {alpha:g}"


def _print_guard(card: Mapping[str, Any]) -> None:
    """What the guard does on queries that neither it nor the bags saw."""
    guard, before, after = card["guard"], card["unguarded"], card.get("validation")
    if after is None:
        print(f"  guard: {guard['kind']}, by {guard['baseline']}. {guard['certificate']['words']}")
        return
    print(f"  guard: {guard['kind']}, by {guard['baseline']}: {guard['why']}")
    print("    on queries that neither it nor the bags saw:")
    mean, risk = (100 * (after[name] / before[name] - 1) if before[name] else 0.0 for name in ("mean", "frisk"))
    print(f"    {card['metric']} {before['mean']:.4f} → {after['mean']:.4f} ({mean:+.1f} %), F_Risk "
          f"{before['frisk']:.4f} → {after['frisk']:.4f} ({risk:+.0f} %), losses {before['losses']} → "
          f"{after['losses']}")  # fmt: skip


@contextmanager
def _progress(settings: Settings) -> Iterator[Callable[[Progress], None]]:
    """Shows the measures of the validation queries after each iteration."""
    from surefoot.learn.metrics import Metric
    from surefoot.learn.validation import describe

    metric = str(Metric.reported(settings))
    with progress("Training") as tell:

        def report(at: Progress) -> None:
            shown = f"{describe(at.measures, metric)}, {time_left(at.seconds_left)}"
            tell(at.iteration, at.n_iterations, f"{at.iteration}/{at.n_iterations}: {shown}")

        yield report

"""The commands of learned rankers: train, predict, export."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli.inputs import progress, time_left
from surefoot.cli.options import BASELINE, OUTPUT, Command, NewFile, NewModel, Option, field_option, grouped, option
from surefoot.errors import SurefootError, counted
from surefoot.learn.settings import FIELDS, Settings

if TYPE_CHECKING:
    from surefoot.learn.data import RankingData
    from surefoot.learn.models import Model
    from surefoot.learn.run import Trained
    from surefoot.learn.validation import Progress
    from surefoot.scores import FloatArray

PAIRS = (
    "objective_options", "virtual_baseline", "metric", "risk_metric", "cutoff", "truncation", "sigmoid", "norm",
    "empty",
)  # fmt: skip
TREES = (
    "engine", "n_estimators", "num_leaves", "learning_rate", "min_child_samples", "early_stopping_rounds", "stop_on",
    "params", "seed", "n_jobs",
)  # fmt: skip
OBJECTIVE = ("learner", "objective", "alpha", *PAIRS)
MODEL = ("query_feature", "n_bags", "guard", "max_loss")
SIZES = {"queries": "query", "documents": "document", "features": "feature"}
BASELINES = "feature:N (as numbered in the file), -feature:N, rank:N, order, run:FILE, scores:FILE or model:PATH"


def baseline_options(text: str, *sets: str, required: bool = False) -> tuple[Option, ...]:
    """--baseline, and an option for the baselines of each further set of queries."""
    baseline = option("--baseline", action="append", required=required, metavar="WHAT", help=f"{BASELINES}; {text}")
    others = (
        option(f"--{name}-baseline", action="append", metavar="WHAT",
               help=f"the same for the queries of --{name}, where --baseline is scores:FILE")
        for name in sets
    )  # fmt: skip
    missing = option("--missing", choices=("error", "last"), default="error",
                     help="how to treat documents that a run lacks (default: error)")  # fmt: skip
    return (baseline, *others, missing)


def setting_options(names: Iterable[str]) -> tuple[Option, ...]:
    """The options for these fields of `Settings`; `settings_from` reads the given ones."""
    return tuple(
        field_option(field, dest=field.name, default=argparse.SUPPRESS) for field in map(FIELDS.__getitem__, names)
    )


def settings_from(arguments: argparse.Namespace, names: Iterable[str], base: Settings | None = None) -> Settings:
    """The settings of ``base``, a recipe or the defaults, changed by the given options."""
    base = base or Settings()
    given = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    for name in ("objective_options", "params"):
        if name in given:
            given[name] = {**getattr(base, name), **dict(map(key_value, given[name]))}
    return replace(base, **given)


def key_value(text: str) -> tuple[str, Any]:
    """Parse K=V; V may be a number, true, false or a text."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise SurefootError(f"expected K=V, such as spread=se; got {text!r}")
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            continue
    return key, {"true": True, "false": False}.get(value.lower(), value)


def run_train(arguments: argparse.Namespace) -> int:
    """Learn a ranker that avoids risk."""
    settings = train_settings(arguments)
    _validate(arguments, settings)
    trained = (_train_on_cluster if arguments.cluster else _train)(arguments, settings)
    _print(trained.model.card, Path(arguments.output))
    return 0


def train_settings(arguments: argparse.Namespace) -> Settings:
    """The defaults or the recipe, changed by the given settings."""
    from surefoot.learn.settings import SAFE

    return settings_from(arguments, (*OBJECTIVE, *TREES, *MODEL), SAFE if arguments.safe else None)


def _validate(arguments: argparse.Namespace, settings: Settings) -> None:
    """Raise now for errors that would otherwise show after the data are read."""
    from surefoot.learn.training import validate_output
    from surefoot.learn.validation import validate_stopping

    validate_stopping(settings, bool(arguments.valid) or settings.n_bags > 1)
    if arguments.cluster:
        from surefoot.cluster.training import validate_cluster_settings

        validate_cluster_settings(settings)
    validate_output(arguments.output, arguments.resume)


def _train(arguments: argparse.Namespace, settings: Settings) -> Trained:
    from surefoot.learn.letor import read_letor
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
            print(f"{checkpoint} has the work done so far; continue with --resume", file=sys.stderr)
        raise


def _train_on_cluster(arguments: argparse.Namespace, settings: Settings) -> Trained:
    """Train on Parquet folders that the workers read, or send them the rows of LETOR files."""
    from surefoot.cluster.dask import connect, train, train_data
    from surefoot.io.atomic import remove
    from surefoot.learn.letor import read_letor
    from surefoot.learn.training import CHECKPOINT

    checkpoint = Path(arguments.output) / CHECKPOINT if arguments.resume else None
    with connect(arguments.cluster) as client:
        if "://" in arguments.train[0] or Path(arguments.train[0]).is_dir():
            (table,), (valid,) = arguments.train, arguments.valid or [None]
            trained = train(client, table, arguments.baseline, settings, valid=valid, checkpoint=checkpoint)
        else:
            trained = train_data(
                client, read_letor(arguments.train), arguments.baseline, settings,
                valid=read_letor(arguments.valid) if arguments.valid else None,
                valid_baseline=arguments.valid_baseline, missing=arguments.missing, checkpoint=checkpoint,
            )  # fmt: skip
    trained.model.save(arguments.output)
    if checkpoint is not None:
        remove(checkpoint)
    return trained


def _print(card: Mapping[str, Any], output: Path) -> None:
    from surefoot.learn.validation import describe

    settings, data = card["settings"], card["data"]
    inputs.print_notes(card["notes"])
    size = ", ".join(counted(data[key], noun) for key, noun in SIZES.items())
    is_registered = card["engine"]["name"] != settings["engine"]
    steps = f"{settings['learner']} in {counted(card['trees'], 'step')}"
    grown = steps if is_registered else f"{card['trees']} trees"
    print(f"{output}: {grown}, {_objective(settings)}, from {size}")
    if "unguarded" in card:
        _print_guard(card)
    elif "validation" in card:
        print(f"  validation: {describe(card['validation'], card['metric'])}")
    print(f"  rank with it: surefoot predict {output} TEST.txt -o {output.name}.run")


def _objective(settings: Mapping[str, Any]) -> str:
    """The objective in words; U-CRO at alpha 0 is plain LambdaMART, which has no alpha."""
    name, alpha = settings["objective"], settings["alpha"]
    return "lambdamart" if name == "lambdamart" or (name, alpha) == ("ucro", 0) else f"{name} at alpha {alpha:g}"


def _print_guard(card: Mapping[str, Any]) -> None:
    """Print the effect of the guard on queries that neither the guard nor the bags saw."""
    guard, before, after = card["guard"], card["unguarded"], card.get("validation")
    if after is None:
        print(f"  guard: {guard['kind']}, by {guard['baseline']}. {guard['certificate']['words']}")
        return
    print(f"  guard: {guard['kind']}, by {guard['baseline']}: {guard['why']}")
    print("    on queries that neither the guard nor the bags saw:")
    mean, risk = (100 * (after[name] / before[name] - 1) if before[name] else 0.0 for name in ("mean", "frisk"))
    print(f"    {card['metric']} {before['mean']:.4f} → {after['mean']:.4f} ({mean:+.1f} %), F_Risk "
          f"{before['frisk']:.4f} → {after['frisk']:.4f} ({risk:+.0f} %), losses {before['losses']} → "
          f"{after['losses']}")  # fmt: skip


@contextmanager
def _progress(settings: Settings) -> Iterator[Callable[[Progress], None]]:
    """Show the measures of the validation queries after each iteration."""
    from surefoot.learn.validation import describe

    metric = str(settings.reported_metric)
    with progress("Training") as show:

        def report(at: Progress) -> None:
            shown = f"{describe(at.measures, metric)}, {time_left(at.seconds_left)}"
            show(at.iteration, at.n_iterations, f"{at.iteration}/{at.n_iterations}: {shown}")

        yield report


def run_predict(arguments: argparse.Namespace) -> int:
    """Rank documents with a trained model, or with a baseline of the data."""
    from surefoot.io.atomic import write_text
    from surefoot.io.files import name_of
    from surefoot.io.trec_writer import labelled_documents, qrels_lines, ranked_documents, run_lines
    from surefoot.learn.letor import read_letor

    ranker = _ranker(arguments.model)
    data = read_letor(arguments.data)
    data, scores = _rank(ranker, data, arguments.baseline)
    if data.documents is None:
        inputs.print_notes(["the data has no document ids; documents are named by query and number"])
    tag = "-".join(name_of(Path(arguments.output)).split())
    write_text(arguments.output, "".join(run_lines(ranked_documents(data, scores), tag)))
    if arguments.write_qrels:
        write_text(arguments.write_qrels, "".join(qrels_lines(labelled_documents(data))))
    print(f"{arguments.output}: {data.size}{_effectiveness(ranker, data, scores)}")
    return 0


def _ranker(name: str) -> Model | str:
    """A model, or the name of a baseline that is in the data."""
    if name == "order" or name.partition(":")[0] in ("feature", "-feature", "rank"):
        return name
    from surefoot.learn.models import load_model

    return load_model(name)


def _rank(ranker: Model | str, data: RankingData, baseline: str | None) -> tuple[RankingData, FloatArray]:
    """The data with the features of the ranker, and its scores."""
    if isinstance(ranker, str):
        from surefoot.learn.baseline import baselines_of

        return data, baselines_of(ranker, data).ranking("predict")
    aligned = ranker.align(data)
    if ranker.card["data"]["first_feature"] is None and aligned is not data:
        inputs.print_notes(
            [f"the model has features by position; the first is taken to be number {aligned.first_feature}"]
        )
    return aligned, ranker.predict(aligned, baseline=baseline)


def _effectiveness(ranker: Model | str, data: RankingData, scores: FloatArray) -> str:
    """The mean of the metric that the model was trained for, by its name for `evaluate --measure`."""
    if not data.labels.any():
        return ""
    settings = Settings() if isinstance(ranker, str) else ranker.settings
    metric = settings.reported_metric.bind(data.labels, data.bounds, settings.empty)
    return f", {metric.metric} {metric(scores)[metric.counted].mean():.4f}"


def run_export(arguments: argparse.Namespace) -> int:
    """Convert a trained model for other services."""
    from surefoot.learn.export import export_model
    from surefoot.learn.models import load_model

    model = load_model(arguments.model)
    written = export_model(model, arguments.output, arguments.to)
    is_guarded = getattr(model.guard, "kind", "none") != "none"
    whole = " and their guard" if arguments.to == "json" and is_guarded else ""
    print(f"{written[0]}: {model.card['trees']} trees{whole}")
    if len(written) > 1:
        print(f"{written[1]}: the guard, without which the trees are not safe; the manual shows how to serve both")
    return 0


DATA = (
    option("--train", nargs="+", required=True, metavar="FILE", help="LETOR files to learn from"),
    option("--valid", nargs="+", metavar="FILE", help="LETOR files to choose the best iteration on"),
)
COMMANDS = {
    "train": Command(
        run_train,
        (
            *grouped("data", *DATA, *baseline_options("once for each baseline", "valid")),
            option("--safe", action="store_true",
                   help="a recipe to begin with, for one baseline: 8 bags of small trees for the mean, each stopped on "
                   "queries that it holds out, and a guard fitted on those; other options change it"),
            *grouped("objective", *setting_options(OBJECTIVE)),
            *grouped("trees", *setting_options((*TREES, *MODEL))),
            option("--resume", action="store_true",
                   help="resume from the checkpoint in the output folder; with --cluster also keep one, in a folder "
                   "that all workers see"),
            option("--cluster", metavar="ADDRESS",
                   help="train on the Dask cluster of this scheduler (tcp://10.0.0.1:8786); needs --engine xgboost"),
            OUTPUT.but(type=NewModel, required=True, metavar="DIR", help="folder for the model and its card"),
        ),
    ),
    "predict": Command(
        run_predict,
        (
            option("model", metavar="MODEL",
                   help="folder that `surefoot train` wrote, or feature:N, -feature:N, rank:N or order"),
            option("data", nargs="+", metavar="FILE", help="LETOR files of the documents to rank"),
            BASELINE.but(metavar="WHAT",
                         help="for a guarded model whose baseline is no feature: run:FILE, scores:FILE or model:PATH, "
                         "for these documents"),
            option("--write-qrels", type=NewFile, metavar="FILE",
                   help="also write the labels, as judgments of the run"),
            OUTPUT.but(required=True, help="where to write the TREC run"),
        ),
    ),
    "export": Command(
        run_export,
        (
            option("model", metavar="MODEL", help="folder that `surefoot train` wrote"),
            option("--to", choices=("json", "treelite", "onnx"), default="json", help="format (default: json)"),
            OUTPUT.but(required=True, help="the file to write"),
        ),
    ),
}  # fmt: skip

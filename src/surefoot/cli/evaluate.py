"""The commands that compare systems in tables: evaluate, scores, cross, agreement."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli import options as opt
from surefoot.cli.inputs import progress
from surefoot.cli.options import Command, Option, names, number, numbers, option
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot._typing import Progress
    from surefoot.analysis.evaluate import Evaluation
    from surefoot.results import Result
    from surefoot.scores import Scores

PARAMETERS = ("systems", "population", "tail", "geometric", "minus", "ci", "tests", "n_resamples", "seed", "level")
"""The options that are parameters of `surefoot.evaluate`, by the same names."""


def run_evaluate(arguments: argparse.Namespace) -> int:
    """The risk of every system."""
    if arguments.baseline and arguments.baseline_map:
        raise SurefootError("give --baseline or --baseline-map, not both")
    mode = next((mode for mode in MODES if getattr(arguments, mode.name)), None)
    if mode is None:
        _refuse_options_of_modes(arguments)
    else:
        mode.refuse_others(arguments)
    if arguments.baseline and len(arguments.baseline) == 1:
        (arguments.baseline,) = arguments.baseline
    inputs.show(mode.run(arguments) if mode else _evaluation(arguments), arguments)
    return 0


def _evaluation(arguments: argparse.Namespace) -> Result:
    """The measures of all rows."""
    from surefoot.analysis.evaluate import evaluate

    scores = inputs.load(arguments)
    chosen, options = _baselines(arguments), _parameters(arguments)
    waits: AbstractContextManager[Progress | None] = nullcontext()
    if arguments.ci or arguments.tests:
        waits = progress("Resampling ...")
    with waits as report:
        result = evaluate(
            scores, chosen, arguments.alpha, correct=arguments.correct, letters=arguments.letters, progress=report,
            **options,
        )  # fmt: skip
    if arguments.unjudged == "bounds" or arguments.llm_qrels:
        result = _with_doubts(result, scores, arguments)
    return _arranged(result, arguments)


def _baselines(arguments: argparse.Namespace) -> Any:
    """The names of the baselines, or a map with the baseline of each system."""
    from surefoot.io.small_files import read_map

    return read_map(arguments.baseline_map, "baseline") if arguments.baseline_map else arguments.baseline


def _parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """The parameters of `surefoot.evaluate`."""
    from surefoot.analysis.design import is_extra

    extra = [name for name in arguments.columns or () if is_extra(name)]
    return inputs.given(arguments, *PARAMETERS) | {"value": inputs.value_function(arguments), "extra": extra}


def _by_segment(arguments: argparse.Namespace) -> Result:
    """The risk of every system in every segment."""
    from surefoot.analysis.segments import evaluate_segments
    from surefoot.io.small_files import read_segments

    segments = read_segments(arguments.segments, arguments.segment_by)
    given = _parameters(arguments) | {"correct": arguments.correct or "holm"}
    return evaluate_segments(inputs.load_one(arguments), segments, _baselines(arguments), arguments.alpha, **given)


def _arranged(result: Evaluation, arguments: argparse.Namespace) -> Result:
    """The result with columns of letters and with measures side by side, on request."""
    if arguments.letters and arguments.columns and arguments.columns != ["all"]:
        from surefoot.analysis.paper_tables import letter_columns

        arguments.columns = letter_columns(arguments.columns)
    if not arguments.side_by_side:
        return result
    if "measure" not in result.columns:
        raise SurefootError("--side-by-side shows several measures: give --measure more than once")
    from surefoot.analysis.paper_tables import side_by_side

    if arguments.columns == ["all"]:
        return side_by_side(result)
    columns, arguments.columns = arguments.columns, None
    return side_by_side(result, columns)


def _with_doubts(result: Evaluation, scores: list[Scores], arguments: argparse.Namespace) -> Evaluation:
    """Add bounds over the grades of unjudged documents, and values expected from the grades of models."""
    from surefoot.judgments.bounds import with_expected, with_urisk_bounds

    flag = "--unjudged bounds" if arguments.unjudged == "bounds" else "--llm-qrels"
    if not arguments.baseline or arguments.value != "linear":
        raise SurefootError(f"{flag} needs a run as the --baseline, and linear values")
    runs = {one.measure: inputs.judged_runs(one) for one in scores}
    result = with_urisk_bounds(result, runs) if arguments.unjudged == "bounds" else result
    return with_expected(result, runs, arguments.seed) if arguments.llm_qrels else result


def _bayes(arguments: argparse.Namespace) -> Result:
    """The Bayesian model of all systems, which replaces the measures."""
    from surefoot.analysis.tests import bayes

    if not arguments.baseline:
        raise SurefootError("--bayes needs a system as the --baseline")
    given = inputs.given(arguments, "baseline", "alpha", "systems", "seed", "level")
    scores = inputs.load_one(arguments)
    with progress("Predicting ...") as report:
        return bayes(scores, loses_on=arguments.loses_on / 100, progress=report, **given)


def _stream(arguments: argparse.Namespace) -> Result:
    """Evaluate files that are too large for memory, by measures that add up over topics."""
    from surefoot.analysis.streaming import evaluate_parquet

    if not arguments.scores or len(arguments.measure or []) > 1:
        raise SurefootError("--stream reads --scores, of one --measure")
    given = inputs.given(arguments, "baseline", "alpha", "missing")
    return evaluate_parquet(arguments.scores, measure=(arguments.measure or [None])[0], **given)


@dataclass(frozen=True)
class Mode:
    """An option that replaces the usual evaluation; ``takes`` has the options that it uses, besides those of tables.

    ``own`` has those that nothing else uses.
    """

    name: str
    run: Callable[[argparse.Namespace], Result]
    takes: frozenset[str]
    own: frozenset[str] = frozenset()

    def refuse_others(self, arguments: argparse.Namespace) -> None:
        """Raise if an option is given that this mode would ignore."""
        allowed = {self.name, *self.takes, *self.own, *(each.name for each in opt.TABLE_FILE)}
        for each in _given_options(arguments):
            if each.name not in allowed:
                what = each.flags[0] if each.flags[0].startswith("-") else "runs"
                raise SurefootError(f"--{self.name} can't be combined with {what}")
        if "unjudged" in self.takes and arguments.unjudged == "bounds":
            raise SurefootError(f"--{self.name} can't be combined with --unjudged bounds")
        if len(arguments.baseline or ()) > 1:
            raise SurefootError(f"--{self.name} takes one --baseline")


def _given_options(arguments: argparse.Namespace) -> Iterator[Option]:
    """The options of evaluate whose value is not the default."""
    for each in COMMANDS["evaluate"].options:
        value = getattr(arguments, each.name)
        if value != each.settings.get("default") and value not in ([], None) and value is not False:
            yield each


def _refuse_options_of_modes(arguments: argparse.Namespace) -> None:
    """Raise if an option is given that only a mode uses."""
    for each in _given_options(arguments):
        for mode in MODES:
            if each.name in mode.own:
                raise SurefootError(f"{each.flags[0]} belongs to --{mode.name}: add it")


_SCORES = {each.name for each in (*opt.INPUTS, opt.UNJUDGED)}
MODES = (
    Mode("stream", _stream, frozenset({"scores", "baseline", "alpha", "measure", "missing"})),
    Mode("bayes", _bayes, frozenset({*_SCORES, "baseline", "alpha", "systems", "seed", "level"}),
         frozenset({"loses_on"})),
    Mode("segments", _by_segment, frozenset({
        *_SCORES, *PARAMETERS, "baseline", "baseline_map", "alpha", "value", "fences", "correct",
    }), frozenset({"segment_by"})),
)  # fmt: skip


def run_scores(arguments: argparse.Namespace) -> int:
    """The effectiveness of runs, topic by topic."""
    from surefoot.io.tables import scores_csv

    inputs.refuse_ending(arguments.output, ("csv",))
    found = inputs.load(arguments)
    inputs.print_notes(dict.fromkeys(note for one in found for note in one.all_notes))
    inputs.write(scores_csv(*found), arguments.output)
    return 0


def run_cross(arguments: argparse.Namespace) -> int:
    """Every system as the baseline in turn."""
    from surefoot.analysis.cross import baseline_choice, cross

    scores, drawn = inputs.load_one(arguments), inputs.given(arguments, "n_resamples", "seed")
    which = inputs.given(arguments, "alpha", "systems") | {"value": inputs.value_function(arguments)}
    inputs.show(
        baseline_choice(scores, **which, **drawn) if arguments.by_baseline else cross(scores, **which), arguments
    )
    return 0


def kind_of_agreement(function: str, summary: str, *options: Option) -> Command:
    """A kind of agreement: the public name of a function of scores; its keyword arguments are the options."""

    def run(arguments: argparse.Namespace) -> int:
        module, _, name = function.rpartition(".")
        given = inputs.given(arguments, *(each.name for each in options if each.name != "fences"))
        if "value" in given:
            given["value"] = inputs.value_function(arguments)
        found = getattr(import_module(module), name)(inputs.load_one(arguments), **given)
        inputs.show(found, arguments)
        return 0

    return Command(run, (*opt.INPUTS, *options, *opt.TABLE_FILE), summary=summary)


def run_judges(arguments: argparse.Namespace) -> int:
    """How far two judges agree."""
    from surefoot.judgments.judge_agreement import judge_agreement

    if len(arguments.files) < 2:
        raise SurefootError("name the qrels of two judges, then runs: agreement judges people.qrels my-llm.qrels *.run")
    first, second, *runs = arguments.files
    drawn = inputs.given(arguments, "n_resamples", "seed", "names")
    found = judge_agreement(first, second, runs or None, arguments.measure or [opt.DEFAULT_MEASURE], **drawn)
    inputs.show(found, arguments)
    return 0


KINDS = {
    "pca": kind_of_agreement(
        "surefoot.stats.pca", "the systems on principal axes, with virtual baselines (ECIR 2014, figures 1, 2)",
        opt.SYSTEMS,
        option("--include", action="store_true", help="MEAN, MEDIAN and MAX take part in the analysis"),
        option("--centred", action="store_true", help="subtract the mean of each topic first"),
        option("--axes", type=int, default=2, metavar="N", help="number of axes (default: 2)"),
    ),
    "judges": Command(
        run_judges,
        (option("files", nargs="*", metavar="FILE", help="qrels of two judges, the first as the truth; then runs"),
         option("--measure", action="append", metavar="NAME", help=f"of the runs (default: {opt.DEFAULT_MEASURE})"),
         opt.NAMES, opt.N_RESAMPLES.but(default=1000, help="bootstrap resamples of topics (default: 1000)"), opt.SEED,
         *opt.TABLE_FILE),
        summary="two judges: kappa, confusion, tau of means, losing queries found, ratio of F_Risk",
    ),
}  # fmt: skip
"""The kinds of `surefoot agreement`."""


def _kinds() -> dict[str, Command]:
    """The kinds, with those that other distributions register, such as ``agreement g2``."""
    from surefoot.cli import installed_commands

    more = installed_commands(of="agreement")
    return {
        name.partition(" ")[2]: import_module(module).COMMANDS[name] for name, (_, module, _) in more.items()
    } | KINDS


COMMANDS = {
    "evaluate": Command(
        run_evaluate,
        (
            *opt.INPUTS,
            opt.BASELINES,
            option("--baseline-map", metavar="FILE", help="CSV of system,baseline: a baseline for each system"),
            opt.ALPHAS,
            opt.SYSTEMS.but(help="rows to show, by comma (default: all)"),
            *opt.VALUE,
            opt.POPULATION,
            opt.UNJUDGED,
            opt.LLM_QRELS,
            option("--tail", type=numbers, default=[], metavar="LIST",
                   help="add tail risk, the mean difference over these worst shares of topics, such as 0.05,0.1"),
            option("--geometric", action="store_true", help="add the geometric mean (as GMAP)"),
            option("--minus", action="store_true", help="add the forms of ECIR 2020: U-, T-, Z-, Geo-"),
            option("--ci", nargs="?", const="studentised", metavar="METHOD",
                   choices=("studentised", "t", "percentile", "bca", "jackknife"),
                   help="add 95 %% intervals of U, T, Z, GeoRisk, tails: studentised (default), bca, percentile, "
                   "jackknife; t: only of U_Risk"),
            option("--bayes", action="store_true",
                   help="show a Gaussian model of all systems instead: shrunken means, P(better), predicted U_Risk"),
            option("--loses-on", type=number, default=50.0, metavar="PERCENT",
                   help="with --bayes: the share of topics in P(loses on more than this share) (default: 50)"),
            option("--tests", type=names, default=[], metavar="LIST",
                   help="add p values of these tests: bootstrap, t, wilcoxon, flip, max, swap; or all"),
            *opt.RESAMPLING,
            opt.SEGMENTS[0].but(help="CSV of topic,segment: every measure for each segment"),
            opt.SEGMENTS[1],
            option("--level", type=number, default=0.05, metavar="P",
                   help="significance level; intervals hold 1 - P (default: 0.05)"),
            option("--letters", action="store_true",
                   help="mark each mean with the letters of the systems with significantly lower means"),
            option("--side-by-side", action="store_true", help="show several measures beside each other"),
            option("--correct", choices=("holm", "bh", "bonferroni"), help="adjust p over all rows"),
            option("--stream", action="store_true",
                   help="read --scores, Parquet files of one large log, in pieces, so that memory is bounded"),
            *opt.TABLE_FILE,
        ),
    ),
    "scores": Command(
        run_scores,
        (*opt.INPUTS, opt.OUTPUT),
    ),
    "cross": Command(
        run_cross,
        (
            *opt.INPUTS, opt.ALPHA, opt.SYSTEMS, *opt.VALUE,
            option("--by-baseline", action="store_true",
                   help="a row for each baseline: how far its order agrees with those of the others, and which rank "
                   "differences a bootstrap over topics confirms"),
            *opt.RESAMPLING, *opt.TABLE_FILE,
        ),
    ),
    "agreement": Command(
        kinds=_kinds,
    ),
}  # fmt: skip

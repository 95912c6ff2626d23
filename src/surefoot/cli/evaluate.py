"""The commands that compare systems in tables: evaluate, scores, cross, agreement."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli.options import (
    ALPHA,
    ALPHAS,
    BASELINE,
    BASELINES,
    DEFAULT_MEASURE,
    INPUTS,
    LLM_QRELS,
    N_RESAMPLES,
    NAMES,
    OUTPUT,
    POPULATION,
    RESAMPLING,
    SEED,
    SEGMENTS,
    SYSTEM,
    SYSTEMS,
    TABLE_FILE,
    UNJUDGED,
    VALUE,
    Command,
    names,
    number,
    numbers,
    option,
)  # fmt: skip
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot._typing import Progress
    from surefoot.analysis.evaluation import Evaluation
    from surefoot.results import Result
    from surefoot.scores import Scores

MANY_TOPICS = 10_000
"""From here on the progress of intervals and tests is shown."""


def run_evaluate(arguments: argparse.Namespace) -> int:
    """The risk of every system."""
    _refuse_contradictions(arguments)
    if arguments.baseline and len(arguments.baseline) == 1:
        (arguments.baseline,) = arguments.baseline
    if arguments.stream:
        return _stream(arguments)
    if arguments.bayes:
        return _bayes(arguments)
    from surefoot.analysis.design import is_extra
    from surefoot.analysis.evaluate import evaluate

    chosen = arguments.baseline
    if arguments.baseline_map:
        from surefoot.io.small_files import read_map

        chosen = read_map(arguments.baseline_map, "baseline")
    given = ("systems", "population", "tail", "geometric", "minus", "ci", "tests", "n_resamples", "seed", "level")
    options = {name: getattr(arguments, name) for name in given} | {"value": inputs.value_function(arguments)}
    options["extra"] = [name for name in arguments.columns or () if is_extra(name)]
    if arguments.segments:
        return _segments(arguments, chosen, options)
    scores = inputs.load(arguments)
    with _resampling_progress(scores, arguments) as report:
        result = evaluate(
            scores, chosen, arguments.alpha, correct=arguments.correct, letters=arguments.letters, progress=report,
            **options,
        )  # fmt: skip
    if arguments.unjudged == "bounds":
        result = _with_bounds(result, scores, arguments)
    if arguments.llm_qrels:
        result = _with_expected(result, scores, arguments)
    inputs.show(_arranged(result, arguments), arguments)
    return 0


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    if len(arguments.baseline or ()) > 1 and (arguments.stream or arguments.segments or arguments.bayes):
        raise SurefootError("--stream, --segments and --bayes take one --baseline")
    if arguments.baseline and arguments.baseline_map:
        raise SurefootError("give --baseline or --baseline-map, not both")
    if arguments.segment_by and not arguments.segments:
        raise SurefootError("--segment-by names a column of the segments file: give that with --segments FILE")
    if arguments.segments and (arguments.llm_qrels or arguments.unjudged == "bounds"):
        flag = "--llm-qrels" if arguments.llm_qrels else "--unjudged bounds"
        raise SurefootError(f"{flag} is not for --segments; leave out one of them")


def _segments(arguments: argparse.Namespace, baseline: Any, options: dict[str, Any]) -> int:
    """The risk of every system in every segment."""
    from surefoot.analysis.segments import evaluate_segments
    from surefoot.io.small_files import read_segments

    segments = read_segments(arguments.segments, arguments.segment_by)
    one, correct = inputs.load_one(arguments), arguments.correct or "holm"
    inputs.show(evaluate_segments(one, segments, baseline, arguments.alpha, correct=correct, **options), arguments)
    return 0


@contextmanager
def _resampling_progress(scores: list[Scores], arguments: argparse.Namespace) -> Iterator[Progress | None]:
    """Show the progress of intervals and tests over many topics."""
    topics = max(len(one.topics) for one in scores)
    if topics < MANY_TOPICS or not (arguments.ci or arguments.tests):
        yield None
        return
    with progress(f"Resampling {topics:,} topics ...") as report:
        yield report


def _arranged(result: Evaluation, arguments: argparse.Namespace) -> Result:
    """The result with the columns of letters, and side by side, if that was asked for."""
    if arguments.letters and arguments.columns and arguments.columns != ["all"]:
        from surefoot.analysis.evaluation import letter_columns

        arguments.columns = letter_columns(arguments.columns)
    if not arguments.side_by_side:
        return result
    from surefoot.analysis.evaluation import side_by_side

    columns, arguments.columns = arguments.columns, None
    return side_by_side(result, columns)


def _with_bounds(result: Evaluation, scores: list[Scores], arguments: argparse.Namespace) -> Evaluation:
    """The rows with the least and the largest U_Risk over all grades of unjudged documents."""
    from surefoot.judgments.bounds import with_urisk_bounds

    if not arguments.baseline or arguments.value != "linear":
        raise SurefootError("--unjudged bounds needs a run as the --baseline, and linear values")
    return with_urisk_bounds(result, {one.measure: inputs.judged_runs(one) for one in scores})


def _bayes(arguments: argparse.Namespace) -> int:
    """The Bayesian model of all systems, in place of the measures."""
    from surefoot.analysis.bayes import bayes

    refused = "baseline_map population tail geometric minus ci tests segments correct letters side_by_side"
    given = [name for name in refused.split() if getattr(arguments, name)]
    if given or arguments.value != "linear" or not arguments.baseline:
        hint = f"; leave out --{given[0].replace('_', '-')}" if given else ""
        raise SurefootError(f"--bayes takes scores or runs, a system as the --baseline and linear values{hint}")
    found = bayes(
        inputs.load_one(arguments), arguments.baseline, arguments.alpha, systems=arguments.systems,
        loses_on=arguments.loses_on / 100, seed=arguments.seed, level=arguments.level,
    )  # fmt: skip
    inputs.show(found, arguments)
    return 0


def _with_expected(result: Evaluation, scores: list[Scores], arguments: argparse.Namespace) -> Evaluation:
    """The rows with what is expected where language models graded documents that nobody judged."""
    from surefoot.judgments.expected import with_expected

    if not arguments.baseline or arguments.value != "linear":
        raise SurefootError("--llm-qrels needs a --baseline, and linear values")
    return with_expected(result, {one.measure: inputs.judged_runs(one) for one in scores}, arguments.seed)


def _stream(arguments: argparse.Namespace) -> int:
    """Evaluate files that are too large for memory, by measures that add up over topics."""
    from surefoot.analysis.streaming import evaluate_parquet

    refused = (
        "runs repeats qrels baseline_map systems population tail geometric minus ci tests fences segments segment_by "
        "correct llm_qrels"
    )
    given = [name for name in refused.split() if getattr(arguments, name)]
    if given or arguments.value != "linear" or not arguments.scores or len(arguments.measure or []) > 1:
        hint = f"; leave out --{given[0].replace('_', '-')}" if given else ""
        raise SurefootError(f"--stream takes --scores, --baseline, --alpha, one --measure and --missing{hint}")
    measure = (arguments.measure or [None])[0]
    found = evaluate_parquet(
        arguments.scores, arguments.baseline, arguments.alpha, measure=measure, missing=arguments.missing
    )
    inputs.show(found, arguments)
    return 0


def run_scores(arguments: argparse.Namespace) -> int:
    """The effectiveness of runs, topic by topic."""
    from surefoot.io.atomic import write_text
    from surefoot.io.tables import scores_csv

    found = inputs.load(arguments)
    for note in dict.fromkeys(note for one in found for note in one.all_notes):
        print(f"note: {note}", file=sys.stderr)
    text = scores_csv(*found)
    if arguments.output:
        write_text(arguments.output, text)
    else:
        sys.stdout.write(text)
    return 0


def run_cross(arguments: argparse.Namespace) -> int:
    """Every system as the baseline in turn."""
    from surefoot.analysis.cross import baseline_choice, cross

    scores = inputs.load_one(arguments)
    which = {"systems": arguments.systems, "value": inputs.value_function(arguments)}
    if arguments.by_baseline:
        drawn = {"n_resamples": arguments.n_resamples, "seed": arguments.seed}
        inputs.show(baseline_choice(scores, arguments.alpha, **which, **drawn), arguments)
    else:
        inputs.show(cross(scores, arguments.alpha, **which), arguments)
    return 0


def run_agreement(arguments: argparse.Namespace) -> int:
    """How far rankings, systems and assumptions agree."""
    inputs.show(_agreement(inputs.load_one(arguments), arguments), arguments)
    return 0


def _agreement(scores: Scores, arguments: argparse.Namespace) -> Result:
    import surefoot

    kind = arguments.kind
    if kind == "pca":
        wanted = {"include": arguments.include, "centred": arguments.centred, "axes": arguments.axes}
        return surefoot.stats.pca(scores, systems=arguments.systems, **wanted)
    if kind == "g2":
        return surefoot.analysis.independence(scores, systems=arguments.systems)
    baseline, alpha = arguments.baseline, arguments.alpha
    if kind == "measures":
        return surefoot.analysis.rank_agreement(scores, baseline, alpha, measures=arguments.of)
    if kind == "values":
        return surefoot.analysis.value_agreement(scores, baseline, alpha, value=inputs.value_function(arguments))
    if kind == "correlation":
        return surefoot.analysis.baseline_bias(
            scores, baseline, alpha, systems=arguments.systems, method=arguments.method
        )
    drawn = (arguments.n_resamples, arguments.seed)
    return surefoot.analysis.normality(scores, arguments.system, baseline, alpha, *drawn)


def run_judges(arguments: argparse.Namespace) -> int:
    """How far two judges agree."""
    from surefoot.judgments.judge_agreement import judge_agreement

    if len(arguments.files) < 2:
        raise SurefootError("name the qrels of two judges, then runs: agreement judges people.qrels my-llm.qrels *.run")
    first, second, *runs = arguments.files
    drawn = {"n_resamples": arguments.n_resamples, "seed": arguments.seed, "names": arguments.names}
    found = judge_agreement(first, second, runs or None, arguments.measure or [DEFAULT_MEASURE], **drawn)
    inputs.show(found, arguments)
    return 0


KINDS = {
    "measures": Command(
        run_agreement,
        (*INPUTS, BASELINE, *ALPHA,
         option("--of", type=names, default=[], metavar="LIST",
                help="measures (default: mean,urisk,trisk,zrisk,georisk)"), *TABLE_FILE),
        summary="Kendall's tau and RBO between the orders by each two measures",
    ),
    "values": Command(
        run_agreement,
        (*INPUTS, BASELINE.but(required=True), *ALPHA,
         VALUE[0].but(choices=("smooth", "monotone"), default="smooth", help="(default: smooth)"), VALUE[1],
         *TABLE_FILE),
        summary="RBO between the orders by linear and by smooth or monotone values (ECIR 2020, figure 4)",
    ),
    "correlation": Command(
        run_agreement,
        (*INPUTS, SYSTEMS, BASELINE.but(required=True), *ALPHA,
         option("--method", choices=("pearson", "spearman"), default="pearson", help="(default: pearson)"),
         *TABLE_FILE),
        summary="each system's correlation with the baseline, and its effect on U_Risk (ECIR 2014)",
    ),
    "pca": Command(
        run_agreement,
        (*INPUTS, SYSTEMS,
         option("--include", action="store_true", help="MEAN, MEDIAN and MAX take part in the analysis"),
         option("--centred", action="store_true", help="subtract each topic's mean first"),
         option("--axes", type=int, default=2, metavar="N", help="number of axes (default: 2)"), *TABLE_FILE),
        summary="the systems on principal axes, with virtual baselines (ECIR 2014, figures 1, 2)",
    ),
    "normality": Command(
        run_agreement,
        (*INPUTS, SYSTEM.but(required=True), BASELINE.but(required=True), *ALPHA, *RESAMPLING, *TABLE_FILE),
        summary="is the mean close to normal? (ECIR 2020, figure 3)",
    ),
    "g2": Command(
        run_agreement,
        (*INPUTS, SYSTEMS, *TABLE_FILE),
        summary="do systems and topics interact? G², its degrees of freedom and p (SIGIR 2016)",
    ),
    "judges": Command(
        run_judges,
        (option("files", nargs="*", metavar="FILE", help="qrels of two judges, the first as the truth; then runs"),
         option("--measure", action="append", metavar="NAME", help=f"of the runs (default: {DEFAULT_MEASURE})"),
         NAMES, N_RESAMPLES.but(default=1000, help="bootstrap resamples of topics (default: 1000)"), SEED, *TABLE_FILE),
        summary="two judges: kappa, confusion, tau of means, losing queries found, ratio of F_Risk",
    ),
}  # fmt: skip
"""The kinds of `surefoot agreement`."""

COMMANDS = {
    "evaluate": Command(
        run_evaluate,
        (
            *INPUTS,
            BASELINES,
            option("--baseline-map", metavar="FILE", help="CSV of system,baseline: a baseline for each system"),
            *ALPHAS,
            SYSTEMS.but(help="rows to show, by comma (default: all)"),
            *VALUE,
            POPULATION,
            UNJUDGED,
            LLM_QRELS,
            option("--tail", type=numbers, default=[], metavar="LIST",
                   help="mean difference over the worst share of topics, such as 0.05,0.1"),
            option("--geometric", action="store_true", help="add the geometric mean (as GMAP)"),
            option("--minus", action="store_true", help="add the forms of ECIR 2020: U-, T-, Z-, Geo-"),
            option("--ci", nargs="?", const="studentised", metavar="METHOD",
                   choices=("studentised", "t", "percentile", "bca", "jackknife"),
                   help="add 95%% intervals of U, T, Z, GeoRisk, tails: studentised (default), bca, percentile, "
                   "jackknife; t: only of U_Risk"),
            option("--bayes", action="store_true",
                   help="instead, a Gaussian model of all systems: shrunken means, P(better), predicted U_Risk"),
            option("--loses-on", type=number, default=50.0, metavar="PERCENT",
                   help="with --bayes: P(loses on more than this share of the topics) (default: 50)"),
            option("--tests", type=names, default=[], metavar="LIST",
                   help="add p of bootstrap, t, wilcoxon, flip, max, swap, or of all"),
            *RESAMPLING,
            SEGMENTS[0].but(help="CSV of topic,segment: every measure for each segment"),
            SEGMENTS[1],
            option("--level", type=number, default=0.05, metavar="P", help="significance level (default: 0.05)"),
            option("--letters", action="store_true",
                   help="mark each mean with the letters of the systems that it is better than"),
            option("--side-by-side", action="store_true", help="show several measures beside each other"),
            option("--correct", choices=("holm", "bh", "bonferroni"), help="adjust p over all rows"),
            option("--stream", action="store_true",
                   help="--scores are the Parquet files of one large log, read in pieces: any size in bounded memory"),
            *TABLE_FILE,
        ),
        """examples:
  surefoot evaluate runs/*.run.gz --qrels qrels.txt --measure ERR@20 --baseline bm25 --alpha 0,1,5,10
  surefoot evaluate --scores err20.csv --baseline indriCASP --alpha 5 --correct holm --ci
  surefoot evaluate --scores err20.csv --baseline MEAN --columns system,mean,urisk,trisk --letters -o table.tex
  surefoot evaluate --scores err20.csv --baseline bm25,dense --correct holm     (a row for each baseline)
  surefoot evaluate --scores err20.csv --format json            (no baseline: only Z_Risk and GeoRisk)""",
    ),
    "scores": Command(
        run_scores,
        (*INPUTS, OUTPUT),
        """examples:
  surefoot scores runs/*.run --qrels qrels.txt --measure nDCG@10 -o scores.csv
  surefoot scores bm25.json dense.parquet --qrels qrels.tsv --measure nDCG@10 --measure RR -o scores.csv
  surefoot evaluate --scores scores.csv --baseline bm25

One measure is written with a column for each run, several with a column for each measure.""",
    ),
    "cross": Command(
        run_cross,
        (
            *INPUTS, *ALPHA, SYSTEMS, *VALUE,
            option("--by-baseline", action="store_true",
                   help="a row for each baseline: how far its order agrees with those of the others, and which rank "
                   "differences a bootstrap over topics confirms"),
            *RESAMPLING, *TABLE_FILE,
        ),
        """examples:
  surefoot cross --scores err20.csv --alpha 10
  surefoot cross runs/*.run --qrels qrels.txt --systems bm25,rm3,bert --format csv
  surefoot cross --scores err20.csv --alpha 10 --by-baseline    (does the choice of the baseline change the order?)""",
    ),
    "agreement": Command(
        examples="""examples:
  surefoot agreement measures --scores err20.csv --baseline indriCASP --alpha 5
  surefoot agreement correlation --scores err20.csv --baseline indriCASP --alpha 10
  surefoot agreement pca --scores err20.csv --systems a,b,c --include
  surefoot agreement normality --scores err20.csv --candidate new --baseline old

`surefoot agreement KIND --help` has the options of each.""",
        kinds=lambda: KINDS,
    ),
}  # fmt: skip

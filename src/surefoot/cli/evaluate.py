"""surefoot evaluate: the risk of every system."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot._typing import Progress
    from surefoot.analysis.evaluate import Evaluation
    from surefoot.results import Result
    from surefoot.scores import Scores

MANY_TOPICS = 10_000
"""From here on intervals and tests take long enough to be told of."""

EXAMPLES = """examples:
  surefoot evaluate runs/*.run.gz --qrels qrels.txt --measure ERR@20 --baseline bm25 --alpha 0,1,5,10
  surefoot evaluate --scores err20.csv --baseline indriCASP --alpha 5 --correct holm --ci
  surefoot evaluate --scores err20.csv --baseline MEAN --columns system,mean,urisk,trisk --letters -o table.tex
  surefoot evaluate --scores err20.csv --format json            (no baseline: Z_Risk and GeoRisk alone)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    inputs.add_inputs(parser)
    parser.add_argument("--baseline", metavar="NAME", help="a system, or MEAN, MEDIAN, MAX of each topic")
    parser.add_argument("--baseline-map", metavar="FILE", help="CSV of system,baseline: to each system its own")
    inputs.add_alpha(parser, several=True)
    parser.add_argument("--systems", type=inputs.names, metavar="LIST", help="rows to show, by comma (default: all)")
    inputs.add_value(parser)
    inputs.add_unjudged(parser)
    parser.add_argument(
        "--tail",
        type=inputs.numbers,
        default=[],
        metavar="LIST",
        help="mean difference over the worst share of topics, such as 0.05,0.1",
    )
    parser.add_argument("--geometric", action="store_true", help="add the geometric mean (as GMAP)")
    parser.add_argument("--minus", action="store_true", help="add the forms of ECIR 2020: U-, T-, Z-, Geo-")
    parser.add_argument(
        "--ci",
        nargs="?",
        const="studentised",
        choices=("studentised", "t", "percentile", "bca", "jackknife"),
        metavar="METHOD",
        help="add 95%% intervals of U, T, Z, GeoRisk, tails: studentised (default), bca, percentile, jackknife; "
        "t: of U_Risk alone",
    )
    parser.add_argument(
        "--tests",
        type=inputs.names,
        default=[],
        metavar="LIST",
        help="add p of bootstrap, t, wilcoxon, flip, max, swap",
    )
    inputs.add_resampling(parser)
    parser.add_argument("--segments", metavar="FILE", help="CSV of topic,segment: every measure for each segment")
    parser.add_argument("--segment-by", metavar="COLUMN", help="the column of the segments file, if it has several")
    parser.add_argument(
        "--level", type=inputs.number, default=0.05, metavar="P", help="of significance (default: 0.05)"
    )
    parser.add_argument(
        "--letters", action="store_true", help="mark each mean with the letters of the systems that it is better than"
    )
    parser.add_argument("--side-by-side", action="store_true", help="several measures beside each other")
    parser.add_argument("--correct", choices=("holm", "bh", "bonferroni"), help="adjust p over all rows")
    parser.add_argument(
        "--stream",
        action="store_true",
        help="--scores are the Parquet files of one large log, read in pieces: any size in bounded memory",
    )
    inputs.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, evaluate, print."""
    if arguments.stream:
        return _stream(arguments)
    if arguments.baseline and arguments.baseline_map:
        raise SurefootError("give --baseline or --baseline-map, not both")
    if arguments.segment_by and not arguments.segments:
        raise SurefootError("--segment-by names a column of the segments file: give that with --segments FILE")
    from surefoot.analysis.columns import is_extra
    from surefoot.analysis.evaluate import evaluate
    from surefoot.io.maps import read_map

    chosen = read_map(arguments.baseline_map, "baseline") if arguments.baseline_map else arguments.baseline
    names = ("systems", "population", "tail", "geometric", "minus", "ci", "tests", "n_resamples", "seed", "level")
    options = {name: getattr(arguments, name) for name in names} | {"value": inputs.value_function(arguments)}
    options["extra"] = [name for name in arguments.columns or () if is_extra(name)]
    if arguments.segment_by and not arguments.segments:
        raise SurefootError("--segment-by names a column of the file that --segments gives; give one")
    if arguments.segments and arguments.unjudged == "bounds":
        raise SurefootError("--unjudged bounds is not for --segments; leave out one of them")
    if arguments.segments:
        from surefoot.analysis.segments import evaluate_segments
        from surefoot.io.maps import read_segments

        segments = read_segments(arguments.segments, arguments.segment_by)
        one, correct = inputs.load_one(arguments), arguments.correct or "holm"
        found = evaluate_segments(one, segments, chosen, arguments.alpha, correct=correct, **options)
        inputs.show(found, arguments)
    else:
        scores = inputs.load(arguments)
        with _telling_of_resamples(scores, arguments) as tell:
            result = evaluate(scores, chosen, arguments.alpha, correct=arguments.correct, progress=tell, **options)
        if arguments.unjudged == "bounds":
            result = _with_bounds(result, scores, arguments)
        inputs.show(_arranged(result, scores, arguments), arguments)
    return 0


@contextmanager
def _telling_of_resamples(scores: list[Scores], arguments: argparse.Namespace) -> Iterator[Progress | None]:
    """Says what takes so long, where it does: intervals and tests of many topics."""
    topics = max(len(one.topics) for one in scores)
    if topics < MANY_TOPICS or not (arguments.ci or arguments.tests):
        yield None
        return
    with progress(f"Resampling {topics:,} topics ...") as tell:
        yield tell


def _arranged(result: Evaluation, scores: list[Scores], arguments: argparse.Namespace) -> Result:
    """The result with letters and side by side, if that was asked for."""
    from surefoot.analysis.pairs import compare_pairs
    from surefoot.analysis.paper_tables import side_by_side, with_letters

    if arguments.letters:
        how = {"correct": arguments.correct or "holm", "level": arguments.level}
        pairs = {one.measure: compare_pairs(one, arguments.systems, **how) for one in scores}
        result = with_letters(result, pairs if len(scores) > 1 else pairs[scores[0].measure])
        if arguments.columns:
            arguments.columns = ["letter", *_behind(arguments.columns, "mean", "better_than")]
    if not arguments.side_by_side:
        return result
    columns, arguments.columns = arguments.columns, None
    return side_by_side(result, columns)


def _behind(names: list[str], name: str, other: str) -> list[str]:
    """The names with another one behind one of them."""
    return [kept for each in names for kept in ((each, other) if each == name else (each,))]


def _with_bounds(result: Evaluation, scores: list[Scores], arguments: argparse.Namespace) -> Evaluation:
    """The rows with the least and the largest U_Risk over all grades of unjudged documents."""
    from surefoot.judgments.bounds import with_urisk_bounds

    if not arguments.baseline or arguments.value != "linear":
        raise SurefootError("--unjudged bounds needs a run as the --baseline, and linear values")
    return with_urisk_bounds(result, {one.measure: inputs.judged_runs(one) for one in scores})


def _stream(arguments: argparse.Namespace) -> int:
    """Evaluate files that are too large for memory, by measures that add up over topics."""
    from surefoot.analysis.streaming import evaluate_parquet

    names = (
        "runs",
        "repeats",
        "qrels",
        "baseline_map",
        "systems",
        "population",
        "tail",
        "geometric",
        "minus",
        "ci",
        "tests",
    )
    given = [name for name in (*names, "fences", "segments", "segment_by", "correct") if getattr(arguments, name)]
    if given or arguments.value != "linear" or not arguments.scores or len(arguments.measure or []) > 1:
        refused = f"; leave out --{given[0].replace('_', '-')}" if given else ""
        raise SurefootError(f"--stream takes --scores, --baseline, --alpha, one --measure and --missing{refused}")
    measure = (arguments.measure or [None])[0]
    found = evaluate_parquet(
        arguments.scores, arguments.baseline, arguments.alpha, measure=measure, missing=arguments.missing
    )
    inputs.show(found, arguments)
    return 0

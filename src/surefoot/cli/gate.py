"""The commands that decide: compare, gate, judge, power."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.cli import inputs
from surefoot.cli.options import (
    ALPHAS,
    ASSESSORS,
    BASELINE,
    BASELINES,
    CANDIDATE,
    DEFAULT_MEASURE,
    INPUTS,
    LLM_QRELS,
    MISSING,
    NAMES,
    OUTPUT,
    QRELS,
    QUERIES,
    SEED,
    SEGMENTS,
    SYSTEM,
    TABLE_FILE,
    TEXTS,
    Command,
    NewFile,
    Once,
    Option,
    grouped,
    names,
    number,
    numbers,
    option,
)  # fmt: skip
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError
from surefoot.release_gate.rules import TIERS, UNDECIDED, Rules

if TYPE_CHECKING:
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.judgments.next_judgments import NextJudgments
    from surefoot.release_gate.config import GateOptions
    from surefoot.release_gate.verdict import GateResult
    from surefoot.results import Result
    from surefoot.scores import Scores
    from surefoot.stats.simulator import Simulator

CHOICES = {"undecided": tuple(UNDECIDED), "evidence": tuple(TIERS)}


def rule_option(field: Field[Any]) -> Option:
    """The option of a field of `Rules`."""
    flag, text, default = f"--{field.name.replace('_', '-')}", field.metadata["help"].replace("%", "%%"), field.default
    if isinstance(default, tuple):
        return option(flag, type=names, metavar="LIST", help=text)
    if field.name in CHOICES:
        return option(flag, choices=CHOICES[field.name], help=f"{text.partition(':')[0]} (default: {default})")
    shown = "" if default is None else f" (default: {default:g})"
    return option(flag, type=number, metavar="X", help=f"{text}{shown}")


def run_compare(arguments: argparse.Namespace) -> int:
    """Two versions in one sentence, by the policy of the gate; the exit code is 0 whatever the verdict."""
    from surefoot.release_gate.compare import Compared
    from surefoot.release_gate.config import read_options
    from surefoot.release_gate.render import render_compared

    options = replace(read_options(), ratchet=None, holdout=0.0)
    scores, (baseline, candidate), files = _pair(arguments)
    with progress("Testing the rules", log="none"):
        result = replace(options, baseline=[baseline], candidate=candidate).run([scores]).result
    if queries := inputs.load_queries(arguments):
        result = result.with_texts(queries)
    _write_out(render_compared, Compared.of(result, scores, files), arguments.format)
    return 0


def _pair(arguments: argparse.Namespace) -> tuple[Scores, tuple[str, str], tuple[str, ...]]:
    """The scores of two runs or of a table, the names of the old and the new system, and the inputs as arguments."""
    from surefoot.io.tables import read_scores_by
    from surefoot.release_gate.compare import score_pair

    if not arguments.scores:
        if len(arguments.runs) != 2 or not arguments.qrels or arguments.baseline or arguments.candidate:
            raise SurefootError("give two runs and judgments: compare OLD NEW --qrels Q; or a table with --scores")
        old, new = arguments.runs
        return score_pair(old, new, arguments.qrels, arguments.measure or DEFAULT_MEASURE)
    named = [*arguments.runs, *filter(None, (arguments.baseline, arguments.candidate))]
    if len(named) != 2 or arguments.qrels:
        raise SurefootError("name two systems of the table: compare OLD NEW --scores TABLE")
    measures = [arguments.measure] if arguments.measure else []
    scores = next(iter(read_scores_by(arguments.scores, measures, arguments.missing).values()))
    chosen = ["--measure", scores.measure] if measures else []
    return scores, (named[0], named[1]), ("--scores", *arguments.scores, *chosen)


def run_gate(arguments: argparse.Namespace) -> int:
    """May a candidate ship? The exit code is that of the verdict."""
    from surefoot.io.texts import read_queries
    from surefoot.release_gate.config import KEYS, read_options

    options = read_options(arguments.config, {key: getattr(arguments, key) for key in KEYS})
    if arguments.scores and not arguments.qrels:
        options = replace(options, qrels=None)  # those of the file are for runs
    arguments.measure, arguments.qrels = list(options.measure) or None, options.qrels
    scores = inputs.load(arguments)
    if arguments.aa:
        options, scores = _against_itself(options, scores)
    if arguments.acknowledge or arguments.why:
        _acknowledge(arguments, options, scores)
    with progress("Testing the rules", log="none"):
        outcome = options.run(scores, missing=arguments.missing, accept=arguments.accept)
    result = outcome.result
    if options.queries:
        result = result.with_texts(read_queries(options.queries))
    _write_verdict(result, arguments)
    if arguments.accept:
        _report_ratchet(result.candidate, str(options.ratchet), outcome.accepted)
    return result.exit_code


def _against_itself(options: GateOptions, scores: Sequence[Scores]) -> tuple[GateOptions, list[Scores]]:
    """The trials of the candidate in two halves, each a system."""
    from surefoot.release_gate.splits import split_trials

    if options.baseline or options.ratchet:
        raise SurefootError("--aa compares the candidate with itself; leave out --baseline and --ratchet")
    parts = [split_trials(part, options.candidate_of(part)) for part in scores]
    candidate, baseline = parts[0].systems
    return replace(options, candidate=candidate, baseline=[baseline]), parts


def _acknowledge(arguments: argparse.Namespace, options: GateOptions, scores: Sequence[Scores]) -> None:
    """Write the losses of the named queries to the file of accepted ones, before the gate reads it."""
    from surefoot.release_gate.acknowledged import acknowledge

    if not (arguments.acknowledge and arguments.why):
        raise SurefootError('--acknowledge and --why go together: --acknowledge q17 --why "..."')
    if not options.baseline:
        raise SurefootError("--acknowledge needs the --baseline against which the queries lost")
    comparisons = [(part, name) for part in scores for name in options.baseline]
    candidate = options.candidate_of(scores[0])
    acknowledge(options.losses_file, comparisons, candidate, arguments.acknowledge, arguments.why)
    print(f"acknowledged in {options.losses_file}: {', '.join(arguments.acknowledge)}", file=sys.stderr)


def _report_ratchet(candidate: str, path: str, accepted: bool) -> None:
    if accepted:
        print(f"accepted: {candidate} is the new baseline in {path}", file=sys.stderr)
    else:
        print(f"not accepted: {path} keeps its baseline, and counts the try", file=sys.stderr)


def _write_verdict(result: GateResult, arguments: argparse.Namespace) -> None:
    from surefoot.io.atomic import make_folder, write_text
    from surefoot.release_gate.render import render_gate, render_junit, render_markdown

    for path, write in ((arguments.junit, render_junit), (arguments.markdown, render_markdown)):
        if path:
            make_folder(Path(path).parent)
            write_text(path, write(result))
    _write_out(render_gate, result, arguments.format)


def _write_out(render: Callable[..., str], found: Result, format: str) -> None:
    """Print a verdict, as wide as the terminal."""
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    sys.stdout.write(render(found, format, width=width, color=color))


def run_judge(arguments: argparse.Namespace) -> int:
    """List the documents to judge next, or merge new judgments."""
    if arguments.merge and all(path.endswith(".jsonl") for path in arguments.merge):
        return _merge_answers(arguments)
    if not arguments.qrels:
        raise SurefootError("give the judgments by people with --qrels FILE")
    return _merge(arguments) if arguments.merge else _judge(arguments)


def _write_prompts(runs: JudgedRuns, arguments: argparse.Namespace) -> None:
    """Write requests for a language model to grade what is not graded yet."""
    from surefoot.errors import counted
    from surefoot.io.atomic import write_text
    from surefoot.io.texts import read_documents, read_queries
    from surefoot.judgments.prompts import prompt_lines, ungraded

    if not (arguments.queries and arguments.documents_text):
        raise SurefootError("--prompts needs the texts: give --queries and --documents-text")
    pairs = ungraded(runs)
    texts = read_documents(arguments.documents_text, {document for _, document in pairs})
    lines = list(prompt_lines(pairs, read_queries(arguments.queries), texts, Path(arguments.prompts).stem))
    write_text(arguments.prompts, "".join(lines))
    print(f"{arguments.prompts}: {counted(len(lines), 'prompt')}", file=sys.stderr)


def _merge_answers(arguments: argparse.Namespace) -> int:
    """Write the grades in a language model's answers as qrels, with those that it gave before."""
    from surefoot.effectiveness.sources import load_qrels
    from surefoot.errors import counted
    from surefoot.io.atomic import write_text
    from surefoot.io.trec import read_qrels
    from surefoot.io.trec_writer import qrels_lines
    from surefoot.judgments.next_judgments import merge_qrels
    from surefoot.judgments.prompts import read_answers

    if arguments.runs or arguments.qrels or not arguments.output:
        raise SurefootError("--merge of answers writes a model's grades to -o; leave out runs and --qrels")
    answers = [
        load_qrels(read_answers(path, Path(path).read_text(encoding="utf-8").splitlines())) for path in arguments.merge
    ]
    first, *others = [*map(read_qrels, inputs.llm_qrels(arguments)), *answers]
    lines = list(qrels_lines(merge_qrels(first, others)))
    write_text(arguments.output, "".join(lines))
    print(f"{arguments.output}: {counted(len(lines), 'grade')}", file=sys.stderr)
    return 0


def _judge(arguments: argparse.Namespace) -> int:
    if not (arguments.runs and (arguments.prompts or (arguments.candidate and arguments.baseline))):
        raise SurefootError("name the run files, --candidate and --baseline; or give new judgments with --merge")
    from surefoot.effectiveness import score_runs
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.judgments.next_judgments import next_judgments
    from surefoot.release_gate.gate import gate

    with progress("Reading runs", log="none"):
        scores = score_runs(
            arguments.runs, arguments.qrels, arguments.measure or DEFAULT_MEASURE, arguments.names,
            llm_qrels=inputs.llm_qrels(arguments),
        )  # fmt: skip
        runs = JudgedRuns.of(scores)
        if arguments.prompts:
            _write_prompts(runs, arguments)
            return 0
        found = next_judgments(
            runs,
            arguments.candidate,
            arguments.baseline,
            arguments.alpha,
            budget=arguments.budget,
            enough=arguments.enough,
            seed=arguments.seed,
        )
    rows = _with_texts(found, arguments)
    if arguments.output or not arguments.page:
        _write_rows(rows, arguments.output)
    if arguments.page and len(rows):
        _write_page(rows, range(runs.levels), arguments.page)
    for note in (gate(scores, arguments.baseline, candidate=arguments.candidate).sentence(), *found.notes):
        print(note, file=sys.stderr)
    return 0


def _with_texts(found: NextJudgments, arguments: argparse.Namespace) -> Result:
    """The documents with the texts of their queries and their own, where they are given."""
    from surefoot.io.texts import read_documents, read_queries
    from surefoot.results import Result

    columns = dict(found.columns)
    if arguments.queries:
        queries = read_queries(arguments.queries)
        columns["query"] = [queries.get(topic, "") for topic in columns["topic"]]
    if arguments.documents_text:
        texts = read_documents(arguments.documents_text, set(columns["document"]))
        columns["text"] = [texts.get(document, "") for document in columns["document"]]
    return Result(found.signature, columns, found.notes)


def _write_rows(found: Result, output: str | None) -> None:
    import csv
    import io

    from surefoot.io.atomic import write_text

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(zip(*found.columns.values(), strict=True))
    if output:
        write_text(output, out.getvalue())
    else:
        sys.stdout.write(out.getvalue())


def _write_page(rows: Result, grades: Sequence[int], path: str) -> None:
    from surefoot.io.atomic import write_text
    from surefoot.show.judging import judging_page

    write_text(path, judging_page(rows.rows(), grades, name=Path(path).stem))


def _merge(arguments: argparse.Namespace) -> int:
    from surefoot.errors import counted
    from surefoot.io.atomic import write_text
    from surefoot.io.trec import read_qrels
    from surefoot.io.trec_writer import qrels_lines
    from surefoot.judgments.next_judgments import merge_qrels

    if arguments.runs or arguments.page or not arguments.output:
        raise SurefootError("--merge takes --qrels and writes to -o; it needs no runs and makes no page")
    known = read_qrels(arguments.qrels)
    lines = list(qrels_lines(merge_qrels(known, map(read_qrels, arguments.merge))))
    write_text(arguments.output, "".join(lines))
    print(
        f"{arguments.output}: {counted(len(lines), 'judgment')}, {len(lines) - len(known)} of them new",
        file=sys.stderr,
    )
    return 0


def run_power(arguments: argparse.Namespace) -> int:
    """The number of topics that shows a risk of this size."""
    from surefoot.stats.power import TOPICS, power

    simulator = _simulator(arguments)
    system, baseline = simulator.systems
    result = power(
        simulator,
        system,
        baseline,
        arguments.alpha,
        _sizes(arguments.topics) or TOPICS,
        level=arguments.level,
        n_simulations=arguments.n_simulations,
        seed=arguments.seed,
    )
    inputs.show(result if arguments.format in ("csv", "json") else result.drawn(), arguments)
    return 0


def _sizes(given: list[float] | None) -> list[int]:
    broken = [size for size in given or [] if not size.is_integer()]
    if broken:
        raise SurefootError(f"--topics takes whole numbers; got {broken[0]:g}")
    return [int(size) for size in given or []]


def _simulator(arguments: argparse.Namespace) -> Simulator:
    """A system and its baseline, in this order."""
    from surefoot.stats.power import fitted_pair, planted_pair

    if (arguments.system is None) == (arguments.loss is None):
        raise SurefootError("give --system with the scores it was measured by, or the size of a --loss; not both")
    measured = arguments.scores or arguments.runs or arguments.repeats or arguments.system
    if measured and arguments.baseline is None:
        raise SurefootError("name the --baseline")
    if not measured and arguments.baseline is not None:
        raise SurefootError("--baseline names a system of the scores: give those with --scores, or runs with --qrels")
    if arguments.system is not None:
        return fitted_pair(inputs.load_one(arguments), arguments.system, arguments.baseline)
    if measured:
        return planted_pair(arguments.loss, arguments.share, inputs.load_one(arguments), arguments.baseline)
    return planted_pair(arguments.loss, arguments.share)


FORMAT = option("--format", choices=("table", "json", "md"), default="table", help="(default: table)")

COMMANDS = {
    "compare": Command(
        run_compare,
        (
            option("runs", nargs="*", metavar="OLD NEW", help="two runs; with --scores two systems of the table"),
            QRELS,
            option("--scores", nargs="+", metavar="FILE", help="score tables instead of runs"),
            CANDIDATE.but(help="with --scores: the new system"),
            BASELINE.but(help="with --scores: the old system"),
            option("--measure", "--metric", action=Once, metavar="NAME",
                   help=f"effectiveness measure (default for runs: {DEFAULT_MEASURE})"),
            MISSING,
            QUERIES.but(help="texts of the queries, shown with those that lost most"),
            FORMAT,
        ),
        """examples:
  surefoot compare old.run new.run --qrels qrels.txt
  surefoot compare old.run new.run --qrels qrels.txt --measure RR@10 --queries queries.tsv
  surefoot compare old new --scores err20.csv --format json

The verdict is that of surefoot gate with its defaults or those of surefoot.toml; the exit code is 0.""",
    ),
    "gate": Command(
        run_gate,
        (
            *INPUTS,
            LLM_QRELS,
            CANDIDATE.but(help="the system to judge (default: the only one that is left)"),
            BASELINES,
            *grouped(
                "rules",
                *map(rule_option, fields(Rules)),
                QUERIES.but(help="texts of the queries, shown with those that lost"),
                ASSESSORS.but(help=ASSESSORS.settings["help"].format(default="none; strict: off")),
                option("--protected-file", metavar="FILE", help="protected queries, one a line"),
                *SEGMENTS,
                option("--config", metavar="FILE", help="options (default: surefoot.toml, if there is one)"),
                SEED.but(default=None),
                option("--aa", action="store_true", help="gate the candidate against itself: half of its trials each"),
            ),
            *grouped(
                "acknowledged losses",
                option("--acknowledge", type=names, metavar="LIST", help="accept the losses of these queries"),
                option("--why", metavar="TEXT", help="the reason, with --acknowledge"),
                option("--acknowledged", metavar="FILE",
                       help="the file of accepted losses (default: surefoot-losses.toml)"),
            ),
            *grouped(
                "ratchet",
                option("--ratchet", metavar="FILE", help="compare with the candidate that this file keeps"),
                option("--accept", action="store_true", help="keep the candidate in the file if it passes"),
                option("--holdout", type=number, metavar="X",
                       help="share of queries that only confirm what the others pass"),
            ),
            *grouped(
                "sequential",
                option("--sequential", metavar="FILE",
                       help="add the new queries to this state file; the verdict holds however often one looks"),
            ),
            *grouped(
                "output",
                FORMAT,
                option("--junit", type=NewFile, metavar="FILE",
                       help="write JUnit XML, one test case for each rule"),
                option("--markdown", type=NewFile, metavar="FILE", help="write Markdown for a pull-request comment"),
            ),
        ),
        """examples:
  surefoot gate old.run new.run --qrels qrels.txt --measure nDCG@10 --candidate new --baseline old
  surefoot gate --scores err20.csv --candidate new --baseline old,bm25 --markdown comment.md --junit gate.xml
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json             (against what was accepted last)
  surefoot gate new.run --qrels qrels.txt --ratchet accepted.json --accept    (and keep it if it passes)
  surefoot gate old.run new.run --qrels qrels.txt --candidate new --baseline old --acknowledge q17 --why "moved away"
  surefoot gate --scores trials.csv --candidate agent --aa                    (a system against itself)
  surefoot gate --scores batch7.csv --candidate new --baseline old --sequential state.json   (look at any time)

Exit code 0: ship; 1: don't ship; 2: wrong use or bad input. If the evidence is not enough it is 0, unless --undecided
says otherwise: hold gives 1 if it leans against the candidate, fail 1, exit3 3. Options may stand in surefoot.toml, in
the table [gate], under their names without the dashes; flags win.""",
    ),
    "judge": Command(
        run_judge,
        (
            option("runs", nargs="*", metavar="RUN", help="TREC run files; all of them vote for documents"),
            QRELS.but(help="the relevance judgments so far, by people"),
            LLM_QRELS,
            CANDIDATE,
            BASELINE.but(help="the system to compare it with"),
            option("--measure", metavar="NAME", help=f"(default: {DEFAULT_MEASURE})"),
            NAMES,
            option("--alpha", type=number, default=0.0, metavar="A",
                   help="risk sensitivity of the verdict on U_Risk (default: 0, the mean)"),
            option("--budget", type=int, default=50, metavar="N", help="documents to judge (default: 50)"),
            option("--enough", type=number, default=0.95, metavar="P",
                   help="list nothing if the expected verdict is at least so probable (default: 0.95)"),
            SEED,
            *TEXTS,
            option("--merge", nargs="+", metavar="FILE",
                   help="instead, add these judgments to --qrels and write them to -o; answers of a language model "
                   "(.jsonl) become qrels of their own, with those of --llm-qrels"),
            option("--prompts", type=NewFile, metavar="FILE",
                   help="instead, write requests for a language model to grade what is not graded yet, as JSON lines"),
            option("--page", type=NewFile, metavar="FILE",
                   help="also write a page to judge them in, such as judge.html"),
            OUTPUT.but(help="CSV of topic,document,priority,reason (default: stdout)"),
        ),
        r"""examples:
  surefoot judge runs/*.run --qrels qrels.txt --candidate new --baseline old --budget 50 -o to-judge.csv
  surefoot judge runs/*.run --qrels qrels.txt --candidate new --baseline old --queries queries.tsv \
      --documents-text corpus.jsonl --page judge.html
  surefoot judge --merge judged.qrels --qrels qrels.txt -o more.qrels
  surefoot judge runs/*.run --qrels qrels.txt --queries queries.tsv --documents-text corpus.jsonl --prompts my-llm.jsonl
  surefoot judge --merge answers.jsonl -o my-llm.qrels""",
    ),
    "power": Command(
        run_power,
        (
            *INPUTS,
            SYSTEM.but(help="the system whose measured risk is to be seen"),
            BASELINE,
            option("--loss", type=number, metavar="X",
                   help="instead of --candidate: a copy of the baseline that loses X"),
            option("--share", type=number, default=1.0, metavar="P", help="share of topics that lose (default: 1)"),
            *ALPHAS,
            option("--topics", type=numbers, metavar="LIST", help="numbers of topics, by comma (default: 25 to 400)"),
            option("--level", type=number, default=0.05, help="significance level (default: 0.05)"),
            option("--n-simulations", type=int, default=2000, metavar="N",
                   help="simulated collections (default: 2000)"),
            SEED,
            *TABLE_FILE,
        ),
        """examples:
  surefoot power --scores err20.csv --candidate new --baseline old --alpha 1,5
  surefoot power --scores err20.csv --baseline old --loss 0.2 --share 0.1     (a copy of old that loses on a tenth)
  surefoot power --loss 0.2 --share 0.1 --topics 50,100,200,400,800           (built-in margins, no data)""",
    ),
}  # fmt: skip

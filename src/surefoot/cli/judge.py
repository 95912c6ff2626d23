"""The commands for more evidence: judge, power."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot._names import spreadsheet
from surefoot.cli import inputs
from surefoot.cli import options as opt
from surefoot.cli.inputs import progress
from surefoot.cli.options import Command, NewFile, counts, number, option
from surefoot.errors import SurefootError, counted

if TYPE_CHECKING:
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.judgments.next_judgments import NextJudgments
    from surefoot.results import Result
    from surefoot.stats.power import Power
    from surefoot.stats.simulator import Simulator

STREAMS, LONGEST = 100, 1000
"""The number of simulated streams of a sequential gate, and the topics of each."""
NO_QRELS = "give the judgments by people with --qrels FILE"
TEXTS = "query", "text"
"""The columns of texts beside the documents to judge."""


def run_judge(arguments: argparse.Namespace) -> int:
    """List the documents to judge next, or merge new judgments."""
    if arguments.merge:
        return _merge(arguments, answers=all(path.endswith(".jsonl") for path in arguments.merge))
    if not arguments.qrels:
        raise SurefootError(NO_QRELS)
    return _judge(arguments)


def _write_prompts(runs: JudgedRuns, arguments: argparse.Namespace) -> None:
    """Write requests for a language model to grade documents that it has not graded."""
    from surefoot.io.texts import read_documents, read_queries
    from surefoot.judgments.prompts import prompt_lines, ungraded

    if not (arguments.queries and arguments.documents_text):
        raise SurefootError("--prompts needs the texts: give --queries and --documents-text")
    pairs = ungraded(runs)
    texts = read_documents(arguments.documents_text, {document for _, document in pairs})
    lines = list(prompt_lines(pairs, read_queries(arguments.queries), texts, Path(arguments.prompts).stem))
    inputs.write("".join(lines), arguments.prompts)
    print(f"{arguments.prompts}: {counted(len(lines), 'prompt')}", file=sys.stderr)


def _judge(arguments: argparse.Namespace) -> int:
    if not (arguments.runs and (arguments.prompts or (arguments.candidate and arguments.baseline))):
        raise SurefootError("name the run files, --candidate and --baseline; or give new judgments with --merge")
    from surefoot.effectiveness import score_runs
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.judgments.next_judgments import next_judgments
    from surefoot.release_gate.config import read_options
    from surefoot.release_gate.gate import gate
    from surefoot.show.judging import judging_page

    with progress("Reading runs", log="none"):
        scores = score_runs(
            arguments.runs, arguments.qrels, arguments.measure or opt.DEFAULT_MEASURE, arguments.names,
            llm_qrels=inputs.llm_qrels(arguments),
        )  # fmt: skip
        runs = JudgedRuns.of(scores)
        if arguments.prompts:
            _write_prompts(runs, arguments)
            return 0
        given = inputs.given(arguments, "baseline", "alpha", "budget", "enough", "seed")
        found = next_judgments(runs, arguments.candidate, **given)
    rows = _with_texts(found, arguments)
    if arguments.output or not arguments.page:
        # Ids stay as they are: with grades beside them the file is read again.
        cells = [[*map(spreadsheet, own)] if name in TEXTS else own for name, own in rows.columns.items()]
        inputs.write_csv(rows.columns, zip(*cells, strict=True), arguments.output)
    if arguments.page and len(rows):
        page = judging_page(rows.rows(), range(runs.levels), name=Path(arguments.page).stem)
        inputs.write(page, arguments.page)
    decided = gate(scores, arguments.baseline, candidate=arguments.candidate, rules=read_options().rules)
    unwritten = [f"{arguments.page} is not written: it would be empty"] if arguments.page and not len(rows) else []
    for note in (decided.sentence(), *found.notes, *unwritten):
        print(note, file=sys.stderr)
    return 0


def _with_texts(found: NextJudgments, arguments: argparse.Namespace) -> Result:
    """Add the texts of queries and documents, if they are given."""
    from surefoot.io.texts import read_documents
    from surefoot.results import Result

    columns = dict(found.columns)
    if queries := inputs.load_queries(arguments):
        columns[TEXTS[0]] = [queries.get(topic, "") for topic in columns["topic"]]
    if arguments.documents_text:
        texts = read_documents(arguments.documents_text, set(columns["document"]))
        columns[TEXTS[1]] = [texts.get(document, "") for document in columns["document"]]
    return Result(found.signature, columns, found.notes)


def _merge(arguments: argparse.Namespace, answers: bool) -> int:
    """Add new judgments to the qrels, or make qrels of the answers of a language model."""
    from surefoot.effectiveness.sources import load_qrels
    from surefoot.io.files import read_bytes
    from surefoot.io.trec import read_qrels
    from surefoot.io.trec_writer import qrels_lines
    from surefoot.judgments.next_judgments import merge_qrels
    from surefoot.judgments.prompts import read_answers

    if not answers and not arguments.qrels:
        raise SurefootError(NO_QRELS)
    if arguments.runs or arguments.page or not arguments.output or (answers and arguments.qrels):
        of_answers = "--merge of answers writes a model's grades to -o; leave out runs and --qrels"
        of_qrels = "--merge takes --qrels and writes to -o; it needs no runs and makes no page"
        raise SurefootError(of_answers if answers else of_qrels)
    if answers:
        found = [read_answers(path, read_bytes(path)) for path in arguments.merge]
        parts = [*map(read_qrels, inputs.llm_qrels(arguments)), *(load_qrels(grades) for grades, _ in found)]
        failed = sum(own for _, own in found)
        noun, note = "grade", f"; {counted(failed, 'request')} failed and left out; ask again" if failed else ""
    else:
        parts = [*map(read_qrels, (arguments.qrels, *arguments.merge))]
        noun, note = "judgment", ", {} of them new"
    lines = list(qrels_lines(merge_qrels(parts[0], parts[1:])))
    inputs.write("".join(lines), arguments.output)
    print(f"{arguments.output}: {counted(len(lines), noun)}{note.format(len(lines) - len(parts[0]))}", file=sys.stderr)
    return 0


def run_power(arguments: argparse.Namespace) -> int:
    """The number of topics needed to see a risk of this size."""
    from surefoot.stats.power import TOPICS, power

    simulator = _simulator(arguments)
    system, baseline = simulator.systems
    given = inputs.given(arguments, "level", "n_simulations", "seed")
    result = power(simulator, system, baseline, arguments.alpha, arguments.topics or TOPICS, **given)
    result = _with_items(result, simulator, arguments.seed)
    inputs.show(result if arguments.format in ("csv", "json") else result.with_bars(), arguments)
    return 0


def _with_items(result: Power, simulator: Simulator, seed: int) -> Power:
    """Add the number of topics that a sequential gate needs, by simulation."""
    from surefoot.release_gate.sequential import expected_items

    own, base = simulator.values(STREAMS * LONGEST, seed)
    found = expected_items((base - own).reshape(STREAMS, LONGEST))
    shares = ", ".join(f"{100 * found[verdict]:.0f} % {verdict}" for verdict in ("pass", "fail", "undecided"))
    note = (
        f"surefoot gate --sequential needs {found['items']:.0f} topics on average (median {found['median']:.0f}), "
        f"{LONGEST:,} at most: {shares}"
    )
    return replace(result, sequential=found, notes=(*result.notes, note))


def _simulator(arguments: argparse.Namespace) -> Simulator:
    """A system and its baseline, in this order."""
    from surefoot.stats.power import fitted_pair, planted_pair

    if (arguments.system is None) == (arguments.loss is None):
        raise SurefootError("give --candidate with scores or runs, or the size of a --loss; not both")
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


COMMANDS = {
    "judge": Command(
        run_judge,
        (
            option("runs", nargs="*", metavar="RUN", help="TREC run files; all of them vote for documents"),
            opt.QRELS.but(help="the judgments by people so far"),
            opt.LLM_QRELS,
            opt.CANDIDATE,
            opt.BASELINE.but(help="the system to compare it with"),
            option("--measure", metavar="NAME", help=f"effectiveness measure (default: {opt.DEFAULT_MEASURE})"),
            opt.NAMES,
            option("--alpha", type=number, default=0.0, metavar="A",
                   help="risk sensitivity of the verdict on U_Risk (default: 0, the mean)"),
            option("--budget", type=int, default=50, metavar="N", help="documents to judge (default: 50)"),
            option("--enough", type=number, default=0.95, metavar="P",
                   help="list nothing if the expected verdict has at least this probability (default: 0.95)"),
            opt.SEED,
            *opt.TEXTS,
            option("--merge", nargs="+", metavar="FILE",
                   help="only add these judgments to --qrels and write them to -o; answers of a language model "
                   "(.jsonl) become qrels of their own, with those of --llm-qrels"),
            option("--prompts", type=NewFile, metavar="FILE",
                   help="only write requests for a language model, as JSON lines, to grade what is not graded yet"),
            option("--page", type=NewFile, metavar="FILE",
                   help="also write a page to judge them in, such as judge.html"),
            opt.OUTPUT.but(help="CSV of topic,document,priority,reason (default: stdout)"),
        ),
    ),
    "power": Command(
        run_power,
        (
            *opt.INPUTS,
            opt.SYSTEM.but(help="the system whose measured risk should be seen"),
            opt.BASELINE,
            option("--loss", type=number, metavar="X",
                   help="instead of --candidate: a copy of the baseline that loses X"),
            option("--share", type=number, default=1.0, metavar="P", help="share of topics that lose (default: 1)"),
            opt.ALPHAS,
            option("--topics", type=counts, metavar="LIST", help="numbers of topics, by comma (default: 25 to 400)"),
            option("--level", type=number, default=0.05, metavar="P", help="significance level (default: 0.05)"),
            option("--n-simulations", type=int, default=2000, metavar="N",
                   help="simulated collections (default: 2000)"),
            opt.SEED,
            *opt.TABLE_FILE,
        ),
    ),
}  # fmt: skip

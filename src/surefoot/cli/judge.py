"""The commands for more evidence: judge, power."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli import inputs
from surefoot.cli.options import (
    ALPHAS,
    BASELINE,
    CANDIDATE,
    DEFAULT_MEASURE,
    INPUTS,
    LLM_QRELS,
    NAMES,
    OUTPUT,
    QRELS,
    SEED,
    SYSTEM,
    TABLE_FILE,
    TEXTS,
    Command,
    NewFile,
    number,
    numbers,
    option,
)  # fmt: skip
from surefoot.cli.progress import progress
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.judgments.next_judgments import NextJudgments
    from surefoot.results import Result
    from surefoot.stats.simulator import Simulator


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
    from surefoot.io.files import read_bytes
    from surefoot.io.trec import read_qrels
    from surefoot.io.trec_writer import qrels_lines
    from surefoot.judgments.next_judgments import merge_qrels
    from surefoot.judgments.prompts import read_answers

    if arguments.runs or arguments.qrels or not arguments.output:
        raise SurefootError("--merge of answers writes a model's grades to -o; leave out runs and --qrels")
    answers = [read_answers(path, read_bytes(path)) for path in arguments.merge]
    first, *others = [*map(read_qrels, inputs.llm_qrels(arguments)), *(load_qrels(grades) for grades, _ in answers)]
    lines = list(qrels_lines(merge_qrels(first, others)))
    write_text(arguments.output, "".join(lines))
    failed = sum(own for _, own in answers)
    note = f"; {counted(failed, 'request')} failed and left out, ask again" if failed else ""
    print(f"{arguments.output}: {counted(len(lines), 'grade')}{note}", file=sys.stderr)
    return 0


def _judge(arguments: argparse.Namespace) -> int:
    if not (arguments.runs and (arguments.prompts or (arguments.candidate and arguments.baseline))):
        raise SurefootError("name the run files, --candidate and --baseline; or give new judgments with --merge")
    from surefoot.effectiveness import score_runs
    from surefoot.judgments.judged_runs import JudgedRuns
    from surefoot.judgments.next_judgments import next_judgments
    from surefoot.release_gate.config import read_options
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
    decided = gate(scores, arguments.baseline, candidate=arguments.candidate, rules=read_options().rules)
    for note in (decided.sentence(), *found.notes):
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


COMMANDS = {
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

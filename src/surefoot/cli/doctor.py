"""surefoot doctor: what files hold, what is odd about them, and which commands take them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from shlex import join
from typing import TYPE_CHECKING, Literal

from surefoot._names import visible
from surefoot.cli.options import DEFAULT_MEASURE, Command, option
from surefoot.errors import SurefootError, counted, listed

if TYPE_CHECKING:
    from surefoot.io.document_lists import DocumentLists

Kind = Literal["letor", "run", "qrels", "scores", "queries"]
NOUNS: dict[Kind, str] = {
    "letor": "ranking data",
    "run": "run",
    "qrels": "judgments",
    "scores": "scores",
    "queries": "texts of queries",
}
SHORT = 10
"""Queries with fewer documents are reported as odd."""
MOST_GRADES = 8
"""Grades have at most this many different values; with more, whole numbers are scores of a run."""


@dataclass
class Finding:
    """The content of a file: facts about it, and what is odd. A file that can't be read has no kind."""

    path: str
    kind: Kind | None = None
    format: str = ""
    facts: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    systems: tuple[str, ...] = ()
    topics: frozenset[str] = frozenset()
    measures: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """The finding as text."""
        if self.kind is None and len(self.odd) == 1:
            yield f"{listed([self.path])}: {listed(self.odd)}"
            return
        name = "not understood" if self.kind is None else NOUNS[self.kind]
        yield f"{listed([self.path])}: {name}{f' ({self.format})' if self.format else ''}"
        yield from (f"  {fact}" for fact in self.facts)
        yield from (f"  odd: {listed([fact])}" for fact in self.odd)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print what each file holds, what is odd about them together, and the commands that take them."""
    found = [diagnose(path) for path in arguments.files]
    for one in found:
        print(visible("\n".join(one.lines())), end="\n\n")
    print(visible("\n".join([*_across(found), *_commands(found)])), end="\n" if any(one.kind for one in found) else "")
    return 0 if all(one.kind for one in found) else 2


def diagnose(path: str) -> Finding:
    """Try to read a file as each kind; the first success is its kind."""
    if path == "-":
        raise SurefootError("files are read several times, which is impossible for standard input; name a file")
    problems: dict[Kind, str] = {}
    for kind, read in _READERS.items():
        found = Finding(path, kind)
        try:
            read(found)
        except SurefootError as error:
            reason = str(error).removeprefix(f"{path}")
            problems[kind] = reason.removeprefix(": ").lstrip(":")
        else:
            return found
    if len({*problems.values()}) == 1:  # such as no such file
        return Finding(path, odd=[problems["run"]])
    return Finding(path, odd=[f"as {NOUNS[kind]}: {reason}" for kind, reason in problems.items()])


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _read_letor(found: Finding) -> None:
    from surefoot.io.files import read_bytes
    from surefoot.io.search_engines import HAS_FEATURES

    if not HAS_FEATURES.match(read_bytes(found.path)):
        raise SurefootError("the first line is not label, qid:ID and features")
    from surefoot.learn import read_letor

    data = read_letor(found.path)
    found.format, found.topics = "LETOR", frozenset(data.queries)
    sizes = (counted(len(data.queries), "query"), counted(len(data.labels), "document"))
    found.facts.append(f"{', '.join(sizes)}, {counted(data.features.shape[1], 'feature')}")
    found.facts.append(f"labels {_range(float(data.labels.min()), float(data.labels.max()))}")


def _read_run(found: Finding) -> None:
    import numpy as np

    from surefoot.effectiveness.sources import sources_of
    from surefoot.io.trec import read_qrels

    runs = [source.load("file", "error") for source in sources_of(found.path)]
    found.format = _format(found.path, "run")
    try:
        are_grades = _look_like_grades(read_qrels(found.path))
    except SurefootError:
        are_grades = False
    if are_grades:
        raise SurefootError("its numbers look like grades")
    found.systems = tuple(run.name for run in runs)
    found.topics = frozenset(topic for run in runs for topic in run.topics)
    for run in runs:
        sizes, where = np.diff(run.bounds), f"{run.name}: " if len(runs) > 1 else ""
        found.facts.append(
            f"{listed([run.name])}: {counted(len(run.topics), 'query')}, {counted(len(run), 'document')}; "
            f"{_range(sizes.min(), sizes.max())} per query, scores {run.scores.min():g} to {run.scores.max():g}"
        )
        short = [topic for topic, size in zip(run.topics, sizes.tolist(), strict=True) if size < SHORT]
        if short:
            found.odd.append(
                f"{where}{counted(len(short), 'query')} with fewer than {SHORT} documents: {listed(short, 5)}"
            )
        begins = np.zeros(len(run), bool)
        begins[run.bounds[:-1]] = True
        tied = int((~begins[1:] & (np.diff(run.scores) == 0)).sum())
        if tied:
            found.odd.append(
                f"{where}{counted(tied, 'document')} tied with the one above; ties are broken by document id"
            )
        found.odd += run.notes


def _look_like_grades(lists: DocumentLists) -> bool:
    numbers = set(lists.numbers.tolist())
    return len(numbers) <= MOST_GRADES and all(number.is_integer() and -2 <= number <= 10 for number in numbers)


def _read_qrels(found: Finding) -> None:
    import numpy as np

    from surefoot.io.trec import read_qrels

    judged = read_qrels(found.path)
    found.format, found.topics = _format(found.path, "qrels"), frozenset(judged.topics)
    grades, counts = np.unique(judged.grades, return_counts=True)
    shown = [f"{grade:g} ({count:,})" for grade, count in zip(grades.tolist(), counts.tolist(), strict=True)]
    found.facts.append(f"{counted(len(judged.topics), 'query')}, {counted(len(judged), 'judgment')}")
    found.facts.append(f"grades {listed(shown, MOST_GRADES)}")
    empty = [topic for topic, _, own in judged.by_topic() if own.max() <= 0]
    if empty:
        found.odd.append(f"{counted(len(empty), 'query')} without a relevant document: {listed(empty, 5)}")
    if judged.are_relevant_only:
        found.odd.append("only relevant documents are judged, so the pool of judged documents is unknown")


def _read_scores(found: Finding) -> None:
    from surefoot.io.tables import measures_in, read_scores

    found.measures = measures_in(found.path)
    scores = read_scores(found.path, found.measures[0] if found.measures else None, missing="drop")
    found.format = _format(found.path, "scores")
    found.systems, found.topics = scores.systems, frozenset(scores.topics)
    found.facts.append(
        f"{counted(len(scores.systems), 'system')} ({listed(scores.systems, 5)}), "
        f"{counted(len(scores.topics), 'item' if scores.noun == 'items' else 'query')}"
    )
    others = f" of {listed(found.measures)}" if len(found.measures) > 1 else ""
    found.facts.append(f"measure {scores.measure}{others}: {scores.values.min():g} to {scores.values.max():g}")
    if scores.trials:
        found.facts.append(f"repeats: {listed(f'{name} {len(own)}' for name, own in scores.trials.items())}")
    if not found.measures:
        found.odd.append("the table does not name its measure; name it by --measure")
    found.odd += scores.notes


def _read_queries(found: Finding) -> None:
    from surefoot.io.texts import read_queries

    texts = read_queries(found.path)
    found.topics = frozenset(texts)
    topic, text = next(iter(texts.items()))
    found.facts.append(f"{counted(len(texts), 'query')}, such as {listed([f'{topic}: {text[:60]}'])}")


_READERS: dict[Kind, Callable[[Finding], None]] = {
    "letor": _read_letor,
    "run": _read_run,
    "qrels": _read_qrels,
    "scores": _read_scores,
    "queries": _read_queries,
}


def _format(path: str, holds: Literal["run", "qrels", "scores"]) -> str:
    from pathlib import Path

    from surefoot.io.files import IRDS, read_bytes
    from surefoot.io.formats import Source, format_of

    if path.startswith(IRDS) or Path(path).is_dir():
        return "ir_datasets" if path.startswith(IRDS) else "results of MTEB"
    found = format_of(Source(path, read_bytes(path)), holds)
    return "TREC" if found is None else found.name


def _across(found: Sequence[Finding]) -> Iterator[str]:
    """What is odd about the files together."""
    judged = frozenset[str]().union(*(one.topics for one in found if one.kind == "qrels"))
    for one in found:
        if one.kind == "run" and judged:
            unjudged = one.topics - judged, "without judgments, which are left out"
            missing = judged - one.topics, "missing but judged, which count 0"
            for topics, what in (unjudged, missing):
                if topics:
                    yield f"odd: {one.path}: {counted(len(topics), 'query')} {what}: {listed(sorted(topics), 5)}"


def _commands(found: Sequence[Finding]) -> Iterator[str]:
    """Complete commands that take these files."""
    files = {kind: [one.path for one in found if one.kind == kind] for kind in NOUNS}
    if files["letor"]:
        yield "commands:"
        yield "  " + join(["surefoot", "train", "--train", *files["letor"], "--baseline", "feature:1", "-o", "model"])
    texts = ["--queries", files["queries"][0]] if files["queries"] else []
    if files["run"] and files["qrels"]:
        systems = [name for one in found if one.kind == "run" for name in one.systems]
        pair = [one.path for one in found if {*one.systems} & {*systems[:2]} and one.kind == "run"]
        rest = ["--qrels", files["qrels"][0], "--measure", DEFAULT_MEASURE]
        versions = [*files["run"], *rest] if len(systems) == 2 else []
        yield from _written(systems, [*files["run"], *rest], [*pair, *rest], texts, versions)
    elif files["run"]:
        yield "runs are scored with judgments: add --qrels FILE"
    elif files["qrels"]:
        yield "judgments score runs: add their files"
    if files["scores"]:
        from surefoot.io.tables import read_scores

        named = [one.measures for one in found if one.kind == "scores"]
        several = [measures for measures in named if len(measures) > 1]
        measure = several[0][0] if several else None
        try:
            systems = list(read_scores(files["scores"], measure, "drop").systems)
        except SurefootError as error:  # such as one system in two files
            yield f"odd: {error}"
            return
        stated = measure or (None if all(named) else "NAME")
        inputs = ["--scores", *files["scores"], *(["--measure", stated] if stated else [])]
        yield from _written(systems, inputs, inputs, texts, [*systems, *inputs])


def _written(
    systems: list[str], inputs: list[str], pair: list[str], texts: list[str], versions: list[str]
) -> Iterator[str]:
    if len(systems) < 2:
        yield f"a second system is needed to compare {listed(systems)} with; add its file"
        return
    baseline = ["--baseline", systems[0]]
    yield "commands:"
    if len(systems) == 2 and versions:
        yield "  " + join(["surefoot", "compare", *versions, *texts])
    yield "  " + join(["surefoot", "evaluate", *inputs, *baseline])
    yield "  " + join(["surefoot", "explore", *pair, "--candidate", systems[1], *baseline, *texts])
    yield "  " + join(["surefoot", "gate", *pair, "--candidate", systems[1], *baseline])


COMMANDS = {
    "doctor": Command(
        run_doctor,
        (option("files", nargs="+", metavar="FILE", help="runs, judgments, scores, logs, texts of queries"),),
    ),
}

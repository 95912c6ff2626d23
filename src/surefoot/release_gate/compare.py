"""Compare two versions of a ranker: one sentence, eight numbers, and the queries that lost most."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot import risk
from surefoot.errors import SurefootError, listed
from surefoot.io.files import name_of
from surefoot.release_gate.finding import ScoredPair
from surefoot.release_gate.gate import as_list, gate
from surefoot.release_gate.rules import RulesLike
from surefoot.release_gate.verdict import Change, GateResult
from surefoot.results import Result
from surefoot.scores import Scores, ScoresLike

MEASURE = "nDCG@10"
"""The measure of runs, if none is named."""
ALPHA = 1.0
"""The risk sensitivity of the U_Risk that is shown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared(Result):
    """What `compare` found; a row for each of the queries that lost most.

    Attributes
    ----------
    gate
        The result of `surefoot.gate`.
    numbers
        Both means and their difference, ``p_mean`` of its t test, wins, losses, losses of more than 20 %, and U_Risk at
        alpha 1.
    inputs
        The inputs as arguments of a command, where they are files.
    """

    gate: GateResult
    numbers: Mapping[str, float]
    inputs: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: GateResult, scores: Scores, inputs: Sequence[str] = ()) -> Compared:
        """What a gate with one comparison found, with the numbers of the scores."""
        change: Change = result.changes[0]
        pair = ScoredPair.of(scores, result.candidate, change.baseline)
        numbers = {
            "baseline_mean": change.baseline_mean,
            "candidate_mean": change.candidate_mean,
            "change": change.candidate_mean - change.baseline_mean,
            "p_mean": float("nan") if change.p is None else change.p,
            "wins": change.wins,
            "losses": change.losses,
            "loss20": change.loss20,
            "urisk": float(risk.urisk(pair.own, pair.base, ALPHA)),
        }
        names = ("topic", "text", "baseline_score", "candidate_score", "delta")
        columns = {name: [getattr(query, name) for query in result.worst] for name in names}
        return cls(
            signature=result.signature, columns=columns, notes=result.notes, gate=result, numbers=numbers,
            inputs=tuple(inputs),
        )  # fmt: skip

    @property
    def verdict(self) -> str:
        """``pass``, ``undecided`` or ``fail``."""
        return self.gate.verdict

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return self.gate.sentence()

    @property
    def next_command(self) -> str:
        """The next command: judge documents, look at the queries that lost, or accept the candidate."""
        pair = ("--baseline", self.gate.baselines[0], "--candidate", self.gate.candidate)
        words = ["explore", "--top", "5", *(["--documents"] if "--qrels" in self.inputs else [])]
        if any(one.documents for one in self.gate.findings if one.verdict == "undecided"):
            words = ["judge", "-o", "to-judge.csv"]
        elif self.verdict == "pass":
            words = ["gate", "--ratchet", "accepted.json", "--accept"]
        return shlex.join(["surefoot", words[0], *(self.inputs or ["..."]), *pair, *words[1:]])

    def headline(self) -> str:
        """The sentence; it stands above the table in a notebook."""
        return self.sentence

    def extra(self) -> dict[str, Any]:
        """The sentence, the verdict and the numbers, for JSON."""
        return {
            "sentence": self.sentence,
            "verdict": self.verdict,
            "candidate": self.gate.candidate,
            "baseline": self.gate.baselines[0],
            "numbers": dict(self.numbers),
            "next_step": self.gate.next_step,
            "next_command": self.next_command,
        }

    def __str__(self) -> str:
        from surefoot.release_gate.render import render_compared

        return render_compared(self)


def compare(
    old: object,
    new: object,
    qrels: object = None,
    measure: object = MEASURE,
    *,
    scores: ScoresLike | None = None,
    queries: Mapping[str, str] | None = None,
    rules: RulesLike | None = None,
) -> Compared:
    """Is the new version better, which queries did it make worse, and is the evidence enough to ship it?

    The verdict is that of `surefoot.gate` on the same pair.

    Parameters
    ----------
    old, new
        Two runs: files, or anything that `score_runs` takes. With ``scores``: the names of two systems. Without
        judgments: two files of scores, or logs of an evaluation.
    qrels
        The judgments, as in `score_runs`.
    measure
        The effectiveness measure of the runs, or the one to use where logs have several.
    scores
        Scores of systems by query, instead of runs and judgments.
    queries
        The text of each query, shown with those that lost most.
    rules
        The rules of the gate; the defaults if None.

    Returns
    -------
    Compared
        With ``sentence``, ``verdict``, ``numbers``, ``next_command`` and, as rows, the queries that lost most.

    Examples
    --------
    >>> table = Scores([[0.5, 0.4, 0.6], [0.1, 0.5, 0.6]], ["old", "new"], ["q1", "q2", "q3"])
    >>> found = compare("old", "new", scores=table)
    >>> found.verdict, found["topic"].tolist(), found.numbers["wins"]
    ('undecided', ['q1'], 1)
    """
    inputs: tuple[str, ...] = ()
    if scores is None:
        part, (baseline, candidate), inputs = score_pair(old, new, qrels, measure)
    elif qrels is not None:
        raise SurefootError("give runs with qrels, or scores; not both")
    else:
        part, baseline, candidate = _one_measure(scores, measure), str(old), str(new)
    result = gate(part, baseline, candidate=candidate, rules=rules)
    return Compared.of(result if queries is None else result.with_texts(queries), part, inputs)


def _one_measure(scores: ScoresLike, measure: object) -> Scores:
    """The scores of one measure: of a table, of files, or in memory."""
    from surefoot.io.tables import read_scores

    given = scores if isinstance(scores, list | tuple) else [scores]
    if given and all(isinstance(one, str | os.PathLike) for one in given):
        return read_scores(given, _named(measure))
    first, *others = as_list(scores)
    if others:
        measures = listed(part.measure for part in (first, *others))
        raise SurefootError(f"compare takes the scores of one measure; got {measures}: choose one, or use gate")
    return first


def _named(measure: object) -> str | None:
    """The measure; None if it is the default."""
    return None if measure == MEASURE else str(measure)


def score_pair(
    old: object, new: object, qrels: object, measure: object
) -> tuple[Scores, tuple[str, str], tuple[str, ...]]:
    """The scores of two runs or tables, their names, and the files as arguments of a command."""
    from surefoot.effectiveness import score_runs
    from surefoot.io.tables import is_score_file, read_scores

    paths = [one for one in (old, new) if isinstance(one, str | os.PathLike)]
    if qrels is None and len(paths) == 2 and all(map(is_score_file, paths)):
        named = _named(measure)
        part = read_scores(paths, named)
        if len(part.systems) != 2:
            raise SurefootError(f"expected one system in each file; there are {listed(part.systems)}")
        chosen = () if named is None else ("--measure", named)
        return part, (part.systems[0], part.systems[1]), ("--scores", *map(str, paths), *chosen)
    if qrels is None:
        raise SurefootError("runs need judgments: compare(old, new, qrels); or give scores=")
    names = run_names(old, new)
    part = score_runs(dict(zip(names, (old, new), strict=True)), qrels, measure)
    files = [str(file) for file in (old, new, qrels) if isinstance(file, str | os.PathLike)]
    if len(files) < 3 or names != (name_of(files[0]), name_of(files[1])):
        return part, names, ()
    chosen = () if part.measure == MEASURE else ("--measure", part.measure)
    return part, names, (*files[:2], "--qrels", files[2], *chosen)


def run_names(old: object, new: object) -> tuple[str, str]:
    """The names of two runs: those of their files, or ``old`` and ``new``.

    >>> run_names("bm25.run", "dense.run.gz"), run_names("main/bm25.run", "branch/bm25.run")
    (('bm25', 'dense'), ('old', 'new'))
    """
    if isinstance(old, str | os.PathLike) and isinstance(new, str | os.PathLike):
        names = name_of(str(old)), name_of(str(new))
        if names[0] != names[1]:
            return names
    return "old", "new"

"""The collections of the atlas, as far as they are on this machine."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from surefoot_lab.datasets.store import locate

from surefoot._typing import FloatArray
from surefoot.effectiveness import score_runs
from surefoot.effectiveness.scoring import Unjudged
from surefoot.io.document_lists import Run
from surefoot.io.files import name_of, read_bytes
from surefoot.io.small_files import read_toml
from surefoot.io.trec import read_run
from surefoot.judgments.assessors import replicate
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.scores import Scores

MEASURE = "nDCG@10"
FAMILIES = ("lexical", "learned trees", "learned sparse", "dense", "early neural", "cross-encoder", "LLM", "not stated")
EMBEDDED = "embedded"
HERE = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class AtlasCollection:
    """Runs with their families, judgments, the BM25 among them, and which run each one reranks."""

    name: str
    title: str
    runs: Mapping[str, Path]
    qrels: Path
    bm25: str
    families: Mapping[str, str]
    first_stages: Mapping[str, str]
    assessors: tuple[Path, ...] = ()
    published: Mapping[str, float] = field(default_factory=dict)
    queries: Path | None = None
    is_complete: bool = False
    """Whether the relevance of all documents is known, so that nothing is unjudged."""
    _rankings: dict[str, Run] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def scores(self) -> Scores:
        """nDCG@10 of all runs."""
        return self._scored("zero")

    @cached_property
    def condensed_scores(self) -> Scores:
        """nDCG@10 of all runs without their unjudged documents."""
        return self._scored("skip")

    def _scored(self, unjudged: Unjudged) -> Scores:
        files = {name: str(path) for name, path in self.runs.items()}
        return score_runs(files, self.qrels, MEASURE, duplicates="first", unjudged=unjudged)

    @cached_property
    def judged(self) -> JudgedRuns:
        """The runs with their judgments."""
        return JudgedRuns.read({name: self.ranking(name) for name in self.runs}, self.qrels, MEASURE)

    def ranking(self, run: str) -> Run:
        """The documents of a run, read once."""
        if run not in self._rankings:
            self._rankings[run] = read_run(self.runs[run], duplicates="first")
        return self._rankings[run]

    @cached_property
    def further_scores(self) -> dict[str, Scores]:
        """The scores by each further assessor, whose grades replace the first's where there are any."""
        runs = {name: ranking.run for name, ranking in self.judged.rankings.items()}
        return {
            name_of(path): score_runs(runs, replicate(self.judged.qrels, path), MEASURE).select(
                topics=self.scores.topics
            )
            for path in self.assessors
        }

    def further_deltas(self, run: str, baseline: str) -> FloatArray:
        """The difference of each topic by each further assessor, assessors × topics; no rows if there is none."""
        found = [scores[run] - scores[baseline] for scores in self.further_scores.values()]
        return np.array(found).reshape(len(found), len(self.scores.topics))

    @cached_property
    def digest(self) -> str:
        """A hash of the content of all files, however they are compressed."""
        found = sha256()
        others = () if self.queries is None else (self.queries,)
        for path in (self.qrels, *self.assessors, *others, *(self.runs[name] for name in sorted(self.runs))):
            found.update(sha256(read_bytes(path)).digest())
        return found.hexdigest()[:12]

    def family(self, run: str) -> str:
        """The family of a run."""
        return self.families.get(run, FAMILIES[-1])

    def delta(self, run: str, baseline: str) -> FloatArray:
        """The difference of each topic."""
        return self.scores[run] - self.scores[baseline]

    def reranked(self, *families: str) -> Iterator[tuple[str, str]]:
        """Runs with the first stages that they rerank: all, or those of some families."""
        for run, first in self.first_stages.items():
            if not families or self.family(run) in families:
                yield run, first


def known_collections() -> dict[str, Mapping[str, Any]]:
    """The collections that the atlas knows, by name, in its order."""
    return {entry["name"]: entry for entry in read_toml(HERE / "atlas.toml").content["collection"]}


def load_collections(names: Sequence[str] = ()) -> tuple[list[AtlasCollection], list[str]]:
    """The collections of these names (none: all) that are on this machine, and a line for each that is not."""
    known, found, missing = known_collections(), [], []
    for name in names or (*known, EMBEDDED):
        try:
            found.append(_embedded() if name == EMBEDDED else _load(known[name]))
        except _NotHereError as error:
            missing.append(f"{name}: {error}")
    return found, missing


class _NotHereError(Exception):
    """The files of a collection are not on this machine; the message says what to get."""


def _folder(name: str, runs: str) -> Path:
    folder = locate(name)
    if folder is None:
        raise _NotHereError(f"surefoot data get {name} (or a folder {name} in SUREFOOT_DATA), its runs as {runs}")
    return folder


def _runs(folder: Path, pattern: str) -> dict[str, Path]:
    found = {name_of(path): path for path in sorted(folder.glob(pattern)) if path.is_file()}
    if not found:
        raise _NotHereError(f"put its runs into {folder / pattern}")
    return found


def _load(entry: Mapping[str, Any]) -> AtlasCollection:
    folder = _folder(entry["folder"], entry["runs"])
    runs = _runs(folder, entry["runs"])
    if entry["bm25"] not in runs:
        raise _NotHereError(f"the run {entry['bm25']}, its BM25, is not among the {len(runs)} in {folder}")
    families = {run: family for family, own in entry["families"].items() for run in own.split()}
    first_stages = {run: first for first, own in entry["first_stages"].items() for run in own.split()}
    return AtlasCollection(
        entry["name"],
        entry["title"],
        runs,
        folder / entry["qrels"],
        entry["bm25"],
        {run: family for run, family in families.items() if run in runs},
        {run: first for run, first in first_stages.items() if run in runs and first in runs},
        tuple(folder / name for name in entry.get("assessors", ()) if (folder / name).exists()),
        dict(_published(entry, folder)),
        folder / "queries.tsv" if (folder / "queries.tsv").exists() else None,
    )


def _published(entry: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, float]]:
    """The means that the organisers published."""
    path = HERE / entry["published"] if "published" in entry else folder / entry.get("leaderboard", "nothing")
    if not path.exists():
        return
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        yield row["run"], float(row.get(MEASURE) or row["ndcg@10"])


def _embedded() -> AtlasCollection:
    from surefoot_lab.demo import GAIN_ONLY, RISK_AVERSE

    folder = Path(_written().name)
    runs = _runs(folder, "runs/*")
    learned = (GAIN_ONLY, RISK_AVERSE)
    families = {run: "learned trees" if run in learned else "lexical" for run in runs}
    first_stages = {run: "BM25" for run in learned if run in runs}
    title = "the embedded collection: sentences that describe objects of Python's library"
    return AtlasCollection(
        EMBEDDED,
        title,
        runs,
        folder / "qrels.txt",
        "BM25",
        families,
        first_stages,
        queries=folder / "queries.tsv",
        is_complete=True,
    )


@cache
def _written() -> TemporaryDirectory[str]:
    """The files of the embedded collection, in a folder that disappears with the process."""
    from surefoot_lab.demo import files
    from surefoot_lab.demo.learned import learn
    from surefoot_lab.demo.task import collection

    home, task = TemporaryDirectory(prefix="surefoot-atlas-"), collection()
    files.write(home.name, task, learn(task))
    return home

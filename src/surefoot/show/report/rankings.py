"""The documents of the report: the rankings, judgments and texts that fit within the size limit of the page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surefoot._typing import PathLike
from surefoot.effectiveness.contributions import Decomposition
from surefoot.effectiveness.sources import load_qrels, sources_of
from surefoot.errors import SurefootError, counted, listed
from surefoot.io.document_lists import Qrels, Run
from surefoot.io.texts import read_documents
from surefoot.scores import Scores
from surefoot.show.html import embedded

DEPTH = 20
"""How many documents of each ranking the page shows."""
SIZE_LIMIT = 2_000_000
"""The most bytes of the page for documents."""
TEXT_LENGTH = 600
"""The most characters of a document's text."""


@dataclass(frozen=True, eq=False)
class Rankings:
    r"""The runs behind scores, their judgments and the documents' texts, for `surefoot.report`.

    Parameters
    ----------
    runs
        The run of each system, by name; some systems may be missing.
    qrels
        The judgments.
    texts
        The texts of documents.
    size_limit
        The most bytes of the page for all this. The page leaves out what does not fit, and says so: first the rankings
        of systems other than the two compared, then texts, then queries, those that lost least first.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "qrels.txt").write_text("q1 0 d1 1\n")
    >>> _ = (folder / "old.run").write_text("q1 Q0 d1 1 9 x\n")
    >>> list(Rankings.read([folder / "old.run"], folder / "qrels.txt").runs)
    ['old']
    """

    runs: Mapping[str, Run]
    qrels: Qrels
    texts: Mapping[str, str] = field(default_factory=dict)
    size_limit: int = SIZE_LIMIT

    @classmethod
    def read(cls, runs: object, qrels: object, texts: PathLike | None = None, size_limit: int = SIZE_LIMIT) -> Rankings:
        """Read runs, judgments, and the texts of the documents that are ranked high.

        Runs and judgments are files, or objects in memory, as in `surefoot.score_runs`.
        """
        loaded = [source.load("file", "error") for source in sources_of(runs)]
        found = cls({run.name: run for run in loaded}, load_qrels(qrels), size_limit=size_limit)
        return found if texts is None else found.with_texts(texts)

    def with_texts(self, path: PathLike) -> Rankings:
        """Add the texts, from a file, of all documents that the page may show."""
        wanted = {
            name for run in self.runs.values() for topic in self.qrels.topics for name in run.of_topic(topic, DEPTH)
        }
        return Rankings(self.runs, self.qrels, read_documents(path, wanted), self.size_limit)


def rankings_payload(rankings: Rankings, scores: Sequence[Scores], system: str, baseline: str) -> dict[str, Any]:
    """The page's documents: those of the two systems first, and within them topics that lost most first."""
    compared = scores[0]
    unknown = [name for name in rankings.runs if name not in compared.systems]
    if unknown:
        raise SurefootError(f"rankings of {listed(unknown)}, which the scores do not have")
    order = np.argsort(compared[system] - compared.baseline(baseline), kind="stable")
    topics, pair = [compared.topics[index] for index in order], (system, baseline)
    packer = _Packer(rankings, [one.measure for one in scores])
    first = [name for name in dict.fromkeys(pair) if name in rankings.runs]
    others = [name for name in rankings.runs if name not in first]
    shown = packer.add_rankings(first, topics, whole=True)
    texts = packer.add_texts(shown) if rankings.texts else []
    more = [name for name in others if len(packer.add_rankings([name], shown)) == len(shown)]
    packer.add_texts(shown)  # of the documents that only others rank high
    return {
        "depth": DEPTH,
        "topics": packer.topics,
        "measures": packer.measures(),
        "left_out": _left_out(
            rankings.size_limit,
            [topic for topic in topics if topic not in shown],
            [topic for topic in shown if topic not in texts] if rankings.texts else [],
            [name for name in others if name not in more],
        ),
    }


class _Packer:
    """Collects rankings and texts while there is room for them."""

    def __init__(self, rankings: Rankings, measures: Sequence[str]) -> None:
        self._rankings, self._room = rankings, rankings.size_limit
        self._parts = [_decomposition(name, rankings.qrels) for name in measures]
        self._cutoff = max((one.measure.cutoff for one in self._parts if one is not None), default=0)
        lowest = min([1.0, *(one.measure.rel for one in self._parts if one is not None)])
        self._relevant = min(lowest, np.nextafter(0.0, 1.0))  # any grade above 0 has a gain in nDCG and ERR
        self._index: dict[str, dict[str, int]] = {}
        self._deepest = DEPTH
        self.topics: dict[str, dict[str, Any]] = {}

    def add_rankings(self, systems: Sequence[str], topics: Sequence[str], whole: bool = False) -> list[str]:
        """Add the rankings of systems, topic by topic; returns the topics that had room.

        ``whole`` adds the deeper ranks of the documents that one of these rankings shows.
        """
        done = []
        for topic in topics:
            index = dict(self._index.get(topic, {}))
            judgments = self._rankings.qrels.of_topic(topic)
            most = None if whole or self._cutoff > DEPTH else DEPTH
            lists = {name: list(self._rankings.runs[name].of_topic(topic, most)) for name in systems}
            shown = {name for one in lists.values() for name in one[:DEPTH]} if whole else set()
            runs = {
                name: {**self._ranking(one, judgments, shown, index), "whole": whole} for name, one in lists.items()
            }
            ids = list(index)[len(self._index.get(topic, {})) :]
            grades = [_whole(judgments.get(name)) for name in ids]
            gains = {} if topic in self.topics else {"gains": self._gains(judgments)}
            if not self._take({"ids": ids, "grades": grades, "runs": runs, **gains}):
                break
            self._index[topic] = index
            own = self.topics.setdefault(topic, {"ids": [], "grades": [], "texts": {}, "runs": {}, **gains})
            own["ids"] += ids
            own["grades"] += grades
            own["runs"] |= runs
            done.append(topic)
        return done

    def add_texts(self, topics: Sequence[str]) -> list[str]:
        """Add the texts of documents that are shown and have none yet; returns the topics that had room."""
        done = []
        for topic in topics:
            own = self.topics[topic]
            shown = dict.fromkeys(index for run in own["runs"].values() for index in run["first"])
            names = {index: own["ids"][index] for index in shown if str(index) not in own["texts"]}
            texts = {str(i): snippet(self._rankings.texts[n]) for i, n in names.items() if n in self._rankings.texts}
            if not self._take(texts):
                break
            own["texts"] |= texts
            done.append(topic)
        return done

    def measures(self) -> list[dict[str, Any] | None]:
        """How each measure combines documents; None for one whose contributions are not defined."""
        ranks = np.arange(1, self._deepest + 1)
        return [
            None if one is None else {
                "form": one.form,
                "cutoff": min(one.measure.cutoff, 1 << 31),
                "discounts": one.discounts(ranks).tolist(),
            }
            for one in self._parts
        ]  # fmt: skip

    def _ranking(
        self, documents: Sequence[str], judgments: Mapping[str, float], shown: Collection[str], index: dict[str, int]
    ) -> dict[str, list[int]]:
        """A ranking as indices of documents: the first ones, and pairs of index and rank of deeper ones that matter."""
        first, deeper = [], []
        for rank, name in enumerate(documents, start=1):
            counts = rank <= self._cutoff and judgments.get(name, -np.inf) >= self._relevant
            if rank <= DEPTH:
                first.append(index.setdefault(name, len(index)))
            elif counts or name in shown:
                deeper += [index.setdefault(name, len(index)), rank]
            if counts:
                self._deepest = max(self._deepest, rank)
        return {"first": first, "deeper": deeper}

    def _gains(self, judgments: Mapping[str, float]) -> list[list[tuple[float, float]] | None]:
        """For each measure, the value of a document of each grade at rank 1."""
        grades = np.array(list(judgments.values()))
        distinct = np.unique(grades)
        return [
            None if one is None else list(zip(distinct.tolist(), one.gains(distinct, grades).tolist(), strict=True))
            for one in self._parts
        ]

    def _take(self, part: object) -> bool:
        size = len(embedded(part))
        fits = size <= self._room
        self._room -= size if fits else 0
        return fits


def snippet(text: str) -> str:
    r"""The beginning of a text, with single spaces.

    >>> snippet("A  tie\nis worn.")
    'A tie is worn.'
    """
    plain = " ".join(text.split())
    return plain if len(plain) <= TEXT_LENGTH else f"{plain[:TEXT_LENGTH].rsplit(' ', 1)[0]} …"


def _whole(grade: float | None) -> float | None:
    return int(grade) if grade is not None and grade.is_integer() else grade


def _decomposition(measure: str, qrels: Qrels) -> Decomposition | None:
    try:
        return Decomposition.of(measure, qrels)
    except SurefootError:
        return None


def _left_out(limit: int, topics: Sequence[str], texts: Sequence[str], systems: Sequence[str]) -> str:
    """What the page lacks, in words; empty if it lacks nothing."""
    lists = (("rankings", topics, "query"), ("documents' texts", texts, "query"), ("rankings", systems, "other system"))
    parts = [f"the {what} of {counted(len(names), word)}" for what, names, word in lists if names]
    size = f"{limit / 1e6:g} MB"
    return f"Left out, to keep documents within {size}: {'; '.join(parts)}." if parts else ""

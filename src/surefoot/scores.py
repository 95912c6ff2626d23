"""Scores: effectiveness of systems × topics, labelled and immutable. Everything else takes or makes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot._alignment import EMPTY, Trials, aligned, read_only, read_only_rows, validated_trials
from surefoot._alignment import LARGEST as LARGEST
from surefoot._alignment import Missing as Missing
from surefoot._lazy import optional
from surefoot._names import as_names, as_texts, positions, refuse_duplicates
from surefoot._typing import FloatArray as FloatArray
from surefoot.errors import SurefootError, counted, did_you_mean, listed

if TYPE_CHECKING:
    import polars

    from surefoot.effectiveness.sources import ScoredRuns

ScoresLike = Any
"""Scores, ``{system: {topic: score}}``, a frame of pandas, polars or pyarrow, or a file of scores."""

VIRTUAL: dict[str, Callable[[FloatArray], FloatArray]] = {
    # Clipped, so that rounding never moves the mean of equal scores away from them.
    # Added row by row: np.mean adds in another order if there is one topic, so that a chunk of a log would differ.
    "MEAN": lambda rows: np.clip(sum(rows) / len(rows), rows.min(axis=0), rows.max(axis=0)),
    "MEDIAN": lambda rows: np.asarray(np.median(rows, axis=0)),
    "MAX": lambda rows: np.asarray(rows.max(axis=0)),
}
"""Baselines made of a set of systems, topic by topic (Dinçer, Ounis and Macdonald, ECIR 2014)."""


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Effectiveness scores of systems (rows) on topics (columns).

    Topics are matched by name, never by position.

    Parameters
    ----------
    values
        A matrix of systems × topics, finite.
    systems, topics
        The names of its rows and columns, each name once.
    measure
        The effectiveness measure.
    notes
        Assumptions so far: topics dropped or filled, queries without judgments, and so on.
    judged
        For scores of runs, the fraction of the first k documents that is judged, where k is the cutoff of the measure:
        systems × topics, NaN where a system retrieved nothing. None if only relevant documents are judged, since the
        pool is then unknown.
    trials
        For each system that has repeats (trials, seeds, epochs), the scores of its trials: trials × topics, NaN where a
        topic has fewer trials than another. Its row of ``values`` is then the mean over trials.
    source
        The runs and judgments that the scores come from; None for score tables.
    noun
        The word for topics in sentences: ``"queries"``, or ``"items"`` for evaluation logs.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4], [0.3, 0.1]], ["old", "new"], ["q1", "q2"], measure="nDCG@10")
    >>> scores
    Scores(2 systems × 2 topics of nDCG@10)
    >>> scores["new"]
    array([0.3, 0.1])

    """

    values: FloatArray
    systems: tuple[str, ...]
    topics: tuple[str, ...]
    measure: str = "score"
    notes: tuple[str, ...] = ()
    judged: FloatArray | None = None
    trials: Trials = field(default_factory=dict)
    source: ScoredRuns | None = None
    noun: str = "queries"

    def __init__(
        self,
        values: npt.ArrayLike,
        systems: Iterable[object],
        topics: Iterable[object],
        measure: str = "score",
        notes: Iterable[str] = (),
        judged: npt.ArrayLike | None = None,
        trials: Mapping[str, npt.ArrayLike] = EMPTY,
        source: ScoredRuns | None = None,
        noun: str = "queries",
    ) -> None:
        self.__dict__.update(values=read_only(values), measure=measure, notes=tuple(notes), source=source, noun=noun)
        self.__dict__.update(systems=as_texts("system", systems), topics=as_texts("topic", topics))
        self.__dict__["judged"] = None if judged is None else read_only(judged)
        self._check()
        own = {name: read_only(trial) for name, trial in trials.items()}
        self.__dict__["trials"] = validated_trials(own, self.systems, self.values) if own else EMPTY

    def _check(self) -> None:
        expected = (len(self.systems), len(self.topics))
        if self.values.shape != expected:
            raise SurefootError(
                f"{expected[0]} systems and {expected[1]} topics need a matrix of that shape, not {self.values.shape}"
            )
        if self.judged is not None and self.judged.shape != expected:
            raise SurefootError(f"the judged fractions have the shape {self.judged.shape}, the scores {expected}")
        if 0 in expected:
            raise SurefootError("scores need at least one system and one topic")
        refuse_duplicates("system", self.systems)
        refuse_duplicates("topic", self.topics)
        reserved = [system for system in self.systems if system in VIRTUAL]
        if reserved:
            raise SurefootError(f"{reserved[0]} names a virtual baseline; rename the system of that name")
        if not (self.lowest >= -LARGEST and self.values.max() <= LARGEST):
            row, column = np.argwhere(~(np.abs(self.values) <= LARGEST))[0]
            raise SurefootError(
                f"the score of system {self.systems[row]!r} on topic {self.topics[column]!r} is "
                f"{self.values[row, column]:g}; scores must be finite numbers, at most {LARGEST:g}"
            )

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, and how much the trials of repeated systems differ."""
        if not self.trials:
            return self.notes
        from surefoot.stats.repeats import notes_on_repeats

        return (*self.notes, *notes_on_repeats(self))

    @property
    def ties(self) -> str | None:
        """How the runs that the scores come from compare the scores of documents, for signatures; None if exactly."""
        return self.source.ties if self.source is not None and self.source.ties != "exact" else None

    @cached_property
    def lowest(self) -> float:
        """The lowest score."""
        return float(self.values.min())

    def __reduce__(self) -> tuple[object, ...]:
        """Make copies and pickles by the constructor, so that they are as immutable as the original."""
        more = (self.notes, self.judged, dict(self.trials), self.source, self.noun)
        return Scores, (self.values, self.systems, self.topics, self.measure, *more)

    def __repr__(self) -> str:
        size = f"{counted(len(self.systems), 'system')} × {counted(len(self.topics), 'topic')}"
        return f"Scores({size} of {self.measure})"

    def __getitem__(self, system: str) -> FloatArray:
        row: FloatArray = self.values[self.row(system)]
        return row

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The scores as numpy takes them: systems × topics."""
        return np.array(self.values, dtype, copy=copy)

    def row(self, system: str) -> int:
        """The row of a system."""
        try:
            return self.systems.index(system)
        except ValueError:
            hint = did_you_mean(system, self.systems)
            raise SurefootError(f"no system {system!r}{hint}; there are {listed(self.systems)}") from None

    @classmethod
    def of(cls, scores: ScoresLike, measure: str | None = None) -> Scores:
        """Scores from any supported input: ``{system: {topic: score}}``, a frame, a file of scores.

        ``{system: {topic: {measure: score}}}``, what ``pytrec_eval`` gives for each run, needs a ``measure`` if it has
        several.

        >>> Scores.of({"old": {"q1": 0.2}, "new": {"q1": 0.4}})
        Scores(2 systems × 1 topic of score)
        """
        if isinstance(scores, Scores):
            return scores
        if isinstance(scores, Mapping):
            from surefoot.io.tables import one_measure

            return cls.from_dict(*one_measure(scores, measure))
        if isinstance(scores, str | os.PathLike):
            from surefoot.io.tables import read_scores

            return read_scores(scores, measure)
        return cls.from_frame(scores, measure)

    @classmethod
    def from_dict(
        cls, scores: Mapping[str, Mapping[Any, float]], measure: str = "score", missing: Missing = "error"
    ) -> Scores:
        """Scores of ``{system: {topic: score}}``, topics in natural order: q2 before q10.

        >>> Scores.from_dict({"old": {"q1": 0.2, "q2": 0.4}, "new": {"q2": 0.1}}, missing="zero").notes
        ('1 missing score filled with 0: new on q1',)
        """
        if not all(isinstance(row, Mapping) for row in scores.values()):
            raise SurefootError("expected {system: {topic: score}}; some system has no such dictionary")
        for system, row in scores.items():
            if np.array(next(iter(row.values()), 0), object).ndim:  # `align` would take topics × trials transposed
                raise SurefootError(f"system {system!r} needs one number for each topic; Scores(trials=) takes several")
        rows = ((system, list(row), list(row.values())) for system, row in scores.items())
        return cls.align(rows, measure=measure, missing=missing)

    @classmethod
    def from_frame(cls, frame: Any, measure: str | None = None, missing: Missing = "error") -> Scores:
        """Scores of a frame of pandas, polars or pyarrow, wide or long, by the rules of `surefoot.read_scores`."""
        from surefoot.io.tables import scores_of_frame

        return scores_of_frame(frame, measure=measure, missing=missing)

    @classmethod
    def align(
        cls,
        rows: Iterable[tuple[str, Sequence[str], npt.ArrayLike]],
        measure: str = "score",
        missing: Missing = "error",
        notes: Iterable[str] = (),
        noun: str = "queries",
    ) -> Scores:
        """Scores of rows ``(system, topics, values)``, each with its own topics in its own order.

        The values of a system with repeats are trials × topics; its scores are the means over trials.

        The scores have the topics in natural order (q2 before q10), so that the order of lines changes no result.
        NaN counts as missing. ``missing="error"`` refuses topics that some system lacks, ``"zero"`` fills them with 0,
        ``"drop"`` leaves those topics out; a note says so.
        """
        names, topics, matrix, trials, on_missing = aligned(rows, missing)
        return cls(matrix, names, topics, measure, (*notes, *on_missing), trials=trials, noun=noun)

    @classmethod
    def concat(cls, parts: Iterable[Scores], missing: Missing = "error") -> Scores:
        """All systems of several scores of one measure, their topics aligned by name.

        >>> one = Scores([[0.1, 0.2]], ["a"], ["q1", "q2"])
        >>> two = Scores([[0.3, 0.4]], ["b"], ["q2", "q1"])
        >>> Scores.concat([one, two])["b"]
        array([0.4, 0.3])
        """
        scores = list(parts)
        measures = list(dict.fromkeys(part.measure for part in scores))
        if len(measures) != 1:
            raise SurefootError(f"only scores of one measure can be combined; got {listed(measures) or 'none'}")
        rows = (
            (system, part.topics, part.trials.get(system, row))
            for part in scores
            for system, row in zip(part.systems, part.values, strict=True)
        )
        notes = dict.fromkeys(note for part in scores for note in part.notes)
        return cls.align(rows, measures[0], missing, notes, scores[0].noun)

    def mean(self) -> dict[str, float]:
        """The mean of each system over all topics.

        >>> Scores([[0.2, 0.4], [0.3, 0.1]], ["old", "new"], ["q1", "q2"]).mean()["new"]
        0.2
        """
        return dict(zip(self.systems, self.values.mean(axis=1).tolist(), strict=True))

    def select(self, systems: Iterable[str] | None = None, topics: Iterable[str] | None = None) -> Scores:
        """The named systems and topics, in the order named.

        >>> Scores([[0.1, 0.2], [0.3, 0.4]], ["a", "b"], ["q1", "q2"]).select(["b"], ["q2"]).values
        array([[0.4]])
        """
        chosen_systems = self.systems if systems is None else tuple(as_names(systems))
        chosen_topics = self.topics if topics is None else tuple(as_names(topics))
        if (chosen_systems, chosen_topics) == (self.systems, self.topics):
            return self
        rows = positions("system", self.systems, chosen_systems)
        columns = positions("topic", self.topics, chosen_topics)
        cells = np.ix_(rows, columns)
        judged = None if self.judged is None else self.judged[cells]
        trials = {name: own[:, columns] for name, own in self.trials.items() if name in chosen_systems}
        values = self.values[cells]
        return replace(self, values=values, systems=chosen_systems, topics=chosen_topics, judged=judged, trials=trials)

    def by_name(self) -> Scores:
        """The scores with systems in the order of their names, on which the rounding of sums and BLAS products depends.

        >>> Scores([[0.1], [0.2]], ["b", "a"], ["q1"]).by_name().systems
        ('a', 'b')
        """
        names = tuple(sorted(self.systems))
        if names == self.systems:
            return self
        rows = positions("system", self.systems, names)
        moved = {"values": read_only_rows(self.values, rows), "systems": names}
        if self.judged is not None:
            moved["judged"] = read_only_rows(self.judged, rows)
        found = object.__new__(Scores)  # skips the checks, which these scores have passed
        found.__dict__.update(self.__dict__ | moved)
        return found

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The scores as ``{system: {topic: score}}``, which `from_dict` reads.

        >>> Scores([[0.2, 0.4]], ["old"], ["q1", "q2"]).to_dict()
        {'old': {'q1': 0.2, 'q2': 0.4}}
        """
        rows = zip(self.systems, self.values.tolist(), strict=True)
        return {system: dict(zip(self.topics, row, strict=True)) for system, row in rows}

    def to_frame(self) -> polars.DataFrame:
        """The scores as a polars frame, a row for each topic and a column for each system; `from_frame` reads it."""
        columns = {"topic": self.topics, **dict(zip(self.systems, self.values, strict=True))}
        frame: polars.DataFrame = optional("polars").DataFrame(columns)
        return frame

    def to_pandas(self) -> Any:
        """The scores as a pandas frame, a row for each topic and a column for each system; `from_frame` reads it."""
        library = optional("pandas")
        return library.DataFrame(
            self.values.T, library.Index(self.topics, name="topic"), library.Index(self.systems, name="system")
        )

    def _repr_html_(self) -> str:
        """The mean and the spread of each system, for notebooks."""
        from surefoot.results import Result, signature
        from surefoot.show.tables import html_table

        low, median, high = np.quantile(self.values, [0, 0.5, 1], axis=1)
        spread = {"mean": self.values.mean(axis=1), "median": median, "lowest": low, "highest": high}
        size = {"systems": len(self.systems), "topics": len(self.topics)}
        made = signature("scores", self, **size)
        return html_table(Result(made, {"system": self.systems, **spread}, self.all_notes))

    def rename(self, names: Mapping[str, str]) -> Scores:
        """The same scores under other system names.

        >>> Scores([[0.1]], ["a"], ["q1"]).rename({"a": "bm25"}).systems
        ('bm25',)
        """
        positions("system", self.systems, names)
        renamed = tuple(names.get(system, system) for system in self.systems)
        trials = {names.get(system, system): own for system, own in self.trials.items()}
        source = None if self.source is None else self.source.rename(names)
        return replace(self, systems=renamed, trials=trials, source=source)

    def standardise(self, over: Iterable[str] | None = None) -> Scores:
        """Each score as Phi((score - mean) / deviation) of its topic, so that hard and easy topics count alike.

        Mean and standard deviation are those of a set of systems, all unless ``over`` names others. A topic on which
        they do not differ is 1/2 for all. Webber, Moffat and Zobel, *Score standardization for inter-collection
        comparison of retrieval systems*, SIGIR 2008.

        >>> Scores([[0.1, 0.9], [0.3, 0.9]], ["a", "b"], ["q1", "q2"]).standardise().values.round(3)
        array([[0.24, 0.5 ],
               [0.76, 0.5 ]])
        """
        from surefoot.risk.distributions import normal_cdf

        known = self.select(over).by_name().values
        if len(known) < 2:
            raise SurefootError("standardised scores need the scores of two systems or more")
        gap, spread = self.values - known.mean(axis=0), known.std(axis=0, ddof=1)
        alike = known.max(axis=0) == known.min(axis=0)
        values = np.where(alike, 0.5, normal_cdf(gap / np.where(alike, 1, spread)))
        made = replace(self, values=values, measure=f"standardised {self.measure}", trials=EMPTY, source=None)
        return made.note(f"scores are standardised by topic over {len(known)} systems (Webber and others, SIGIR 2008)")

    def note(self, *notes: str) -> Scores:
        """The scores with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def baseline(self, name: str, over: Iterable[str] | None = None) -> FloatArray:
        """The scores of a baseline: a system, or MEAN, MEDIAN or MAX of each topic over a set of systems.

        The set is all systems unless ``over`` names others; a system counts in its own virtual baseline, as
        in Dinçer, Ounis and Macdonald (ECIR 2014).

        >>> Scores([[0.1, 0.5], [0.3, 0.1]], ["a", "b"], ["q1", "q2"]).baseline("MAX")
        array([0.3, 0.5])
        """
        if name in self.systems:
            return self[name]
        if name not in VIRTUAL:
            hint = did_you_mean(name, [*self.systems, *VIRTUAL])
            raise SurefootError(
                f"no baseline {name!r}{hint}; there are {listed(self.systems)}, and {', '.join(VIRTUAL)}"
            )
        if over is not None and not (over := as_names(over)):
            raise SurefootError(f"the baseline {name} needs at least one system to be made of")
        members = self if over is None else self.select(over)
        return VIRTUAL[name](members.by_name().values)

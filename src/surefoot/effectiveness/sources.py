"""Where runs and judgments come from: files, or objects in memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from surefoot._alignment import EMPTY
from surefoot._typing import PathLike
from surefoot.errors import SurefootError, listed
from surefoot.io.document_lists import Duplicates, Qrels, Run, Ties
from surefoot.io.files import STDIN, name_of
from surefoot.io.frames import is_frame, library_of
from surefoot.io.memory import qrels_in_memory, run_in_memory
from surefoot.io.trec import Names, read_qrels, read_run, systems_in

UNNAMED = "run"


class Source(NamedTuple):
    """A run to be loaded: a path or an object, and its name; None takes the name of the file or the tag.

    ``repeats`` is the system of which the run is a trial; ``part`` is the system to read from a file of several.
    """

    run: object
    name: str | None = None
    repeats: str | None = None
    part: str | None = None

    def __str__(self) -> str:
        return str(self.run) if self.is_file else f"{self.name} in memory"

    @property
    def is_file(self) -> bool:
        return isinstance(self.run, str | os.PathLike)

    def expected_name(self, names: Names) -> str | None:
        """The name, if it is known before the run is loaded."""
        if self.name is None and self.is_file and names == "file":
            return name_of(self.run)  # type: ignore[arg-type]
        return self.name

    def load(self, names: Names, duplicates: Duplicates, workers: int | None = None, ties: Ties = "exact") -> Run:
        """The run; ``workers`` threads parse a large file."""
        if isinstance(self.run, str | os.PathLike):
            run = read_run(self.run, names, duplicates, workers, self.part)
        elif isinstance(self.run, Run):
            run = self.run
        else:
            run = run_in_memory(self.run, self.name or UNNAMED, duplicates)
        run = run.with_ties(ties)
        return run if self.name is None else replace(run, name=self.name)

    def reloadable(self, run: Run, ties: Ties = "exact") -> object:
        """The file or object to load the run from later; the run itself if that can be read only once."""
        if self.part is not None or ties != "exact":
            return run
        if not isinstance(self.run, str | os.PathLike):
            return run if isinstance(self.run, Iterator) else self.run
        path = Path(self.run).absolute()
        return path if str(self.run) != STDIN and path.is_file() else run


@dataclass(frozen=True, eq=False)
class ScoredRuns:
    """The runs and judgments that scores come from, by name; files are read again when needed.

    ``runs`` are files or objects. ``empty`` has the judged topics for which no trial of a system retrieved anything.
    ``llm_qrels`` are grades by language models: evidence about the grades that people would give. ``ties`` says how
    document scores are compared; runs with ties other than ``"exact"`` are objects.
    """

    runs: Mapping[str, object]
    qrels: Qrels
    measure: str
    duplicates: Duplicates = "error"
    skips_unjudged: bool = False
    empty: Mapping[str, Collection[str]] = field(default_factory=dict)
    llm_qrels: tuple[Qrels, ...] = ()
    ties: Ties = "exact"

    def load(self, systems: Collection[str] | None = None) -> dict[str, Run]:
        """The rankings of some systems, or of all, by name."""
        absent = [name for name in systems or () if name not in self.runs]
        if absent:
            raise SurefootError(f"no run of {listed(absent)}; name two of the runs, such as {listed(self.runs, 3)}")
        wanted = self.runs if systems is None else systems
        return {name: Source(self.runs[name], name).load("file", self.duplicates) for name in wanted}

    def rename(self, names: Mapping[str, str]) -> ScoredRuns:
        """The same runs under other names; a renamed run replaces another one of that name."""
        return replace(self, runs=_renamed(self.runs, names), empty=_renamed(self.empty, names))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle files as paths, and objects in memory as `Run`, since not every object can be pickled."""
        held = [name for name, run in self.runs.items() if not isinstance(run, os.PathLike)]
        runs = {**self.runs, **self.load(held)}
        rest = self.measure, self.duplicates, self.skips_unjudged, dict(self.empty), self.llm_qrels, self.ties
        return ScoredRuns, (runs, self.qrels, *rest)


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    others = {name: own for name, own in given.items() if name not in names}
    return others | {names[name]: own for name, own in given.items() if name in names}


def sources_of(runs: object, repeats: Mapping[str, object] = EMPTY) -> list[Source]:
    """The runs in ``{name: run}``, in paths, or in one run, and the trials in ``{system: [run, run]}``.

    >>> sources_of({"bm25": {"q1": {"d1": 2.5}}})[0].name, sources_of({"q1": {"d1": 2.5}})[0].name
    ('bm25', 'run')
    """
    if isinstance(runs, Mapping) and not _is_run(runs):
        sources = [Source(run, str(name)) for name, run in runs.items()]
    elif isinstance(runs, str | os.PathLike) or (not isinstance(runs, list) and _is_run(runs)):
        sources = _sources(runs)
    elif isinstance(runs, Iterable):
        sources = [source for run in runs for source in _sources(run)]
    else:
        raise SurefootError(f"expected files, or {{name: run}}; got {type(runs).__name__}")
    sources += _trials_of(repeats)
    if not sources:
        raise SurefootError("no runs to score; name at least one")
    return sources


def load_qrels(qrels: PathLike | object) -> Qrels:
    """Judgments of a file or of an object in memory."""
    if isinstance(qrels, Qrels):
        return qrels
    return read_qrels(qrels) if isinstance(qrels, str | os.PathLike) else qrels_in_memory(qrels)


def load_judgments(qrels: object, llm_qrels: object = ()) -> tuple[Qrels, tuple[Qrels, ...]]:
    """Judgments by people, on the topics of all judges, and those of language models: one file or object, or a list."""
    given = llm_qrels if isinstance(llm_qrels, list | tuple) else [llm_qrels]
    judged, models = load_qrels(qrels), tuple(map(load_qrels, given))
    return judged.with_topics({topic for one in models for topic in one.topics}), models


def _trials_of(repeats: Mapping[str, object]) -> list[Source]:
    """The runs in ``{system: [run, run]}``, each a trial of its system.

    >>> [(source.name, source.repeats) for source in _trials_of({"new": ["new.1.run", "new.2.run"]})]
    [('new trial 1', 'new'), ('new trial 2', 'new')]
    """
    found = []
    for system, runs in repeats.items():
        if isinstance(runs, str | os.PathLike) or _is_run(runs) or not isinstance(runs, Iterable):
            raise SurefootError(f"the repeats of {system!r} must be a list of runs")
        trials = [Source(run, f"{system} trial {number}", str(system)) for number, run in enumerate(runs, start=1)]
        if not trials:
            raise SurefootError(f"no runs to repeat {system!r}; name two or more")
        found += trials
    return found


def _sources(run: object) -> list[Source]:
    if isinstance(run, str | os.PathLike):
        return [Source(run, system, part=system) for system in systems_in(run)] or [Source(run)]
    if not _is_run(run):
        raise SurefootError(
            f"expected a file, found {type(run).__name__}; give runs in memory by their names: {{name: run}}"
        )
    return [Source(run, str(getattr(run, "name", None) or UNNAMED))]


def _is_run(thing: object) -> bool:
    """Whether an object is one run, not several."""
    if isinstance(thing, Mapping):
        inner = next(iter(thing.values()), None)
        numbers = list(islice(inner.values(), 1)) if isinstance(inner, Mapping) else [None]
        return all(_is_number(number) for number in numbers)
    return isinstance(thing, Run) or is_frame(thing) or library_of(thing) == "ranx"


def _is_number(thing: object) -> bool:
    try:
        float(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return not isinstance(thing, str)

"""The atlas as one result: its tables one after another, kept in a folder so that a stopped run goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot._typing import PathLike, Progress
from surefoot._version import __version__
from surefoot.errors import SurefootError, choose
from surefoot.io.atomic import digest_of, write_text
from surefoot.io.files import name_of
from surefoot.io.results import render
from surefoot.research.atlas import doubts, guarded, rerankers, risk
from surefoot.research.atlas.collections import AtlasCollection, load_collections
from surefoot.research.atlas.risk import table_of
from surefoot.results import Result, plain

Collections = Sequence[AtlasCollection]
PARTS_FOLDER = "parts"
"""In the folder of an atlas: finished tables."""


@dataclass(frozen=True)
class Part:
    """A table of the atlas: its title, and what makes it of the collections and of the table that it needs.

    A slow one is made, and kept, for each collection by itself.
    """

    title: str
    make: Callable[[Collections, Mapping[str, Result], Progress | None], Result]
    needs: str = ""
    is_slow: bool = False


PARTS = {
    "official": Part("Published and recomputed means", lambda atlas, _, __: risk.official_means(atlas)),
    "runs": Part("Every run against BM25 and against its first stage", lambda atlas, _, __: risk.run_risks(atlas)),
    "families": Part("Risk by family", lambda atlas, _, __: risk.family_risks(atlas)),
    "trend": Part("Does risk shrink as models get better?", lambda atlas, _, __: risk.trend(atlas)),
    "shared": Part("Do rerankers hurt the same queries?", lambda atlas, _, __: rerankers.shared_losses(atlas)),
    "contrast": Part("LLM rerankers and cross-encoders", lambda atlas, _, __: rerankers.contrast(atlas)),
    "worst": Part("The topics that LLM rerankers hurt most", lambda atlas, _, __: rerankers.worst_topics(atlas)),
    "explained": Part(
        "Groups of queries that carry the loss", lambda atlas, _, __: rerankers.explained(atlas), is_slow=True
    ),
    "doubts": Part("Which losses survive?", lambda atlas, _, report: doubts.doubted_pairs(atlas, report), is_slow=True),
    "doubted-families": Part(
        "Which losses survive, by family",
        lambda atlas, made, _: doubts.doubted_families(made["doubts"], atlas),
        needs="doubts",
    ),
    "sizes": Part("Losses and wins by their size", lambda atlas, _, __: doubts.by_size(atlas)),
    "guards": Part(
        "Before and after a guard", lambda atlas, _, report: guarded.guarded_pairs(atlas, report), is_slow=True
    ),
    "guarded-families": Part(
        "Before and after a guard, by family",
        lambda atlas, made, _: guarded.guarded_families(made["guards"], atlas),
        needs="guards",
    ),
}


@dataclass(frozen=True, eq=False)
class Atlas:
    """The tables of the atlas by name, the collections behind them, and what to get for those that are missing."""

    tables: Mapping[str, Result]
    collections: tuple[AtlasCollection, ...]
    missing: tuple[str, ...]

    @property
    def differing(self) -> int:
        """How many recomputed means of TREC DL 2019 differ from NIST's."""
        official = self.tables.get("official")
        rows = [] if official is None else official.rows()
        return sum(not row["equal"] for row in rows if row["collection"] == "DL 2019")


def make_atlas(
    names: Sequence[str] = (),
    *,
    parts: Sequence[str] = (),
    folder: PathLike | None = None,
    progress: Progress | None = None,
) -> Atlas:
    """Make the tables of the atlas, as far as the collections are on this machine.

    Parameters
    ----------
    names
        Collections by name, of the atlas or of `surefoot data list`; none is all of the atlas.
    parts
        Some of the tables (`PARTS`); none is all.
    folder
        Where finished tables are kept and taken from, if data, families, first stages and version are the same.
    progress
        Called with what is done, of how much, and a message.

    Returns
    -------
    Atlas
        The tables.
    """
    chosen = [choose(name, PARTS, "a part of the atlas") for name in parts] or list(PARTS)
    atlas, missing = load_collections(names)
    if not atlas:
        raise SurefootError(f"none of these collections is here; {'; '.join(missing)}")
    _refuse_other_folder(folder)
    store = _Store(None if folder is None else Path(folder))
    wanted = {*chosen, *(PARTS[name].needs for name in chosen)}
    made: dict[str, Result] = {}
    for name, part in PARTS.items():
        if name in wanted:
            if progress is not None:
                progress(len(made), len(wanted), part.title)
            made[name] = _made(name, atlas, made, store, progress)
    return Atlas({name: made[name] for name in PARTS if name in chosen}, tuple(atlas), tuple(missing))


def _made(
    name: str, atlas: Collections, made: Mapping[str, Result], store: _Store, progress: Progress | None
) -> Result:
    """A table, of the store if it is there."""
    part = PARTS[name]
    tables = [
        store.get(name, some) or store.put(name, some, part.make(some, made, progress))
        for some in ([[one] for one in atlas] if part.is_slow else [atlas])
    ]
    if len(tables) == 1:
        return tables[0]
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    return table_of(name, [row for table in tables for row in table.rows()], atlas, *notes)


def _refuse_other_folder(folder: PathLike | None) -> None:
    """Refuse to write into a folder that holds anything but an atlas."""
    home = None if folder is None else Path(folder)
    if home is not None and home.exists() and any(home.iterdir()) and not (home / PARTS_FOLDER).exists():
        raise SurefootError(f"{home} holds other files than those of an atlas; name another folder")


@dataclass(frozen=True)
class _Store:
    """Finished tables as JSON; a name has the hash of all that they are made of, so that nothing stale is taken."""

    folder: Path | None

    def _path(self, name: str, atlas: Collections) -> Path | None:
        key = digest_of(json.dumps([__version__, *map(_described, atlas)]))
        return self.folder and self.folder / PARTS_FOLDER / f"{name}-{key}.json"

    def get(self, name: str, atlas: Collections) -> Result | None:
        path = self._path(name, atlas)
        if path is None or not path.exists():
            return None
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Result(stored["signature"], stored["columns"], tuple(stored["notes"]))

    def put(self, name: str, atlas: Collections, table: Result) -> Result:
        path = self._path(name, atlas)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            columns = {key: plain(list(column)) for key, column in table.columns.items()}
            write_text(path, json.dumps({"signature": table.signature, "columns": columns, "notes": table.notes}))
        return table


def _described(one: AtlasCollection) -> list[object]:
    """What a table takes from a collection: the content of its files, and what is said of them."""
    names = [one.name, one.title, one.bm25, sorted(one.runs), [name_of(path) for path in one.assessors]]
    said = [list(map(list, known.items())) for known in (one.families, one.first_stages, one.published)]
    return [one.digest, *names, *said, one.queries is not None, one.is_complete]


def write_tables(atlas: Atlas, folder: PathLike) -> None:
    """Write each table as CSV, and all of them as one page of Markdown with their commands and hashes."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    lines = ["# Tables of the atlas\n"]
    for name, table in atlas.tables.items():
        write_text(home / f"{name}.csv", render(table, "csv"))
        lines += [f"## {PARTS[name].title}\n", f"`surefoot reproduce neural --part {name}`\n", render(table, "md")]
    write_text(home / "tables.md", "\n".join(lines))

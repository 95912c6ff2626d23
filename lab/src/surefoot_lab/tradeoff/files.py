"""The folder of a trade-off: tables that any tool reads, and from which its plots are drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surefoot._typing import PathLike
from surefoot.errors import InputError
from surefoot.io.atomic import write_text
from surefoot.io.files import parse_json
from surefoot.io.tables import read_scores, scores_csv
from surefoot.results import Result
from surefoot.scores import Scores
from surefoot.show.tables import render
from surefoot_lab.tradeoff.search import Choice
from surefoot_lab.tradeoff.store import HISTORY, read_history
from surefoot_lab.tradeoff.sweep import QueryScores, Sweep

SEARCH = "search.json"
CARD, TEST, TRAIN, CHURN, FEATURE = "tradeoff.json", "scores.csv", "train-scores.csv", "churn.csv", "feature.csv"
DISAGREEMENT, VALID = "disagreement.csv", "valid-"
"""Tables of validation queries have the names of the test queries' tables after a prefix."""


def write_sweep(sweep: Sweep, folder: PathLike) -> None:
    """Write a sweep: the scores, distances and features of each query beside the models, the card last.

    Parameters
    ----------
    sweep
        The result of `sweep_alphas`.
    folder
        The folder of the models.

    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    valid = sweep.valid
    tables = {TEST: sweep.test, TRAIN: sweep.train, CHURN: sweep.churn, FEATURE: sweep.feature,
              DISAGREEMENT: sweep.disagreement}  # fmt: skip
    if valid is not None:
        own = {TEST: valid.scores, FEATURE: valid.feature, DISAGREEMENT: valid.disagreement}
        tables |= {f"{VALID}{name}": scores for name, scores in own.items()}
    for name, scores in tables.items():
        if scores is not None:
            write_text(path / name, scores_csv(scores))
    card = {
        "objective": sweep.objective,
        "measure": sweep.test.measure,
        "alphas": sweep.alphas.tolist(),
        "trees": sweep.trees,
        "validated": sweep.validated,
        "tables": [name for name, scores in tables.items() if scores is not None],
        "to95": None if sweep.to95 is None else [None if np.isnan(one) else one for one in sweep.to95],
        "notes": sweep.notes,
    }
    write_text(path / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")


def write_tables(tables: Mapping[str, Result], folder: PathLike) -> None:
    """Write the tables of a trade-off beside its models, each as NAME.csv."""
    for name, table in tables.items():
        write_text(Path(folder) / f"{name}.csv", render(table, "csv"))


def read_sweep(folder: PathLike) -> Sweep:
    """Read the sweep that `write_sweep` wrote to a folder.

    Parameters
    ----------
    folder
        The folder of the sweep.

    Returns
    -------
    Sweep
        The sweep, without its models.

    """
    path = Path(folder)
    try:
        card = parse_json((path / CARD).read_text("utf-8"))
        alphas = np.array([float(alpha) for alpha in card["alphas"]])
        return Sweep(
            card["objective"],
            alphas,
            tuple(card["trees"]),
            _scores(path, TEST, card),
            _scores(path, TRAIN, card),
            tuple(read_history(path / f"alpha-{alpha:g}" / HISTORY) for alpha in alphas),
            card["validated"],
            _known(path, CHURN, card),
            _known(path, FEATURE, card),
            tuple(card["notes"]),
            _known(path, DISAGREEMENT, card),
            _valid(path, card),
            None if card["to95"] is None else tuple(np.nan if one is None else one for one in card["to95"]),
        )
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(path, f"holds no trade-off (no {CARD}); make one with surefoot tradeoff -o") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(path / CARD, "is not the card of a trade-off; make it again") from None


def write_choice(choice: Choice, folder: PathLike) -> None:
    """Write a search and its recommendation beside its models.

    Parameters
    ----------
    choice
        The result of `choose_alpha`.
    folder
        The folder of the models.

    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    write_text(path / SEARCH, render(choice, "json"))


def read_choice(folder: PathLike) -> Choice:
    """Read the search that `write_choice` wrote to a folder.

    Parameters
    ----------
    folder
        The folder of the search.

    Returns
    -------
    Choice
        The search, without its models.

    """
    path = Path(folder)
    try:
        kept = parse_json((path / SEARCH).read_text("utf-8"))
        columns = {name: np.array([row[name] for row in kept["rows"]]) for name in kept["rows"][0]}
        texts = (tuple(kept["notes"]), tuple(kept["recommendation"]), kept["measure"], kept["baseline"])
        return Choice(kept["signature"], columns, *texts)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(path, f"holds no search (no {SEARCH}); make one with surefoot tradeoff --search -o") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise InputError(path / SEARCH, "is not the file of a search; make it again") from None


def _valid(path: Path, card: dict[str, Any]) -> QueryScores | None:
    if f"{VALID}{TEST}" not in card["tables"]:
        return None
    others = (_known(path, f"{VALID}{name}", card) for name in (FEATURE, DISAGREEMENT))
    return QueryScores(_scores(path, f"{VALID}{TEST}", card), *others)


def _known(path: Path, name: str, card: dict[str, Any]) -> Scores | None:
    return _scores(path, name, card) if name in card["tables"] else None


def _scores(path: Path, name: str, card: dict[str, Any]) -> Scores:
    found, measured = read_scores(path / name), name in (TEST, TRAIN, f"{VALID}{TEST}")
    return Scores(found.values, found.systems, found.topics, card["measure"] if measured else "value")

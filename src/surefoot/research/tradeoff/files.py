"""The folder of a trade-off: tables that any tool reads, and from which its plots are drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from surefoot._typing import PathLike
from surefoot.errors import InputError
from surefoot.io.atomic import write_text
from surefoot.io.results import render
from surefoot.io.tables import read_scores, scores_csv
from surefoot.learn.model_store import HISTORY, read_history
from surefoot.research.tradeoff.search import Choice
from surefoot.research.tradeoff.sweep import Sweep
from surefoot.research.tradeoff.table import TradeoffTable
from surefoot.scores import Scores

SEARCH, TABLE = "search.json", "tradeoff.csv"
CARD, TEST, TRAIN, CHURN, FEATURE = "tradeoff.json", "scores.csv", "train-scores.csv", "churn.csv", "feature.csv"


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
    tables = {TEST: sweep.test, TRAIN: sweep.train, CHURN: sweep.churn, FEATURE: sweep.feature}
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
        "notes": sweep.notes,
    }
    write_text(path / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")


def write_table(table: TradeoffTable, folder: PathLike) -> None:
    """Write the table of a trade-off beside its models."""
    write_text(Path(folder) / TABLE, render(table, "csv"))


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
        card = json.loads((path / CARD).read_text("utf-8"))
        alphas = np.array([float(alpha) for alpha in card["alphas"]])
        return Sweep(
            card["objective"],
            alphas,
            tuple(card["trees"]),
            _scores(path, TEST, card),
            _scores(path, TRAIN, card),
            tuple(read_history(path / f"alpha-{alpha:g}" / HISTORY) for alpha in alphas),
            card["validated"],
            _scores(path, CHURN, card) if CHURN in card["tables"] else None,
            _scores(path, FEATURE, card) if FEATURE in card["tables"] else None,
            tuple(card["notes"]),
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
        kept = json.loads((path / SEARCH).read_text("utf-8"))
        columns = {name: np.array([row[name] for row in kept["rows"]]) for name in kept["rows"][0]}
        texts = (tuple(kept["notes"]), tuple(kept["recommendation"]), kept["measure"], kept["baseline"])
        return Choice(kept["signature"], columns, *texts)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(path, f"holds no search (no {SEARCH}); make one with surefoot tradeoff --search -o") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise InputError(path / SEARCH, "is not the file of a search; make it again") from None


def _scores(path: Path, name: str, card: dict[str, Any]) -> Scores:
    found = read_scores(path / name)
    return Scores(found.values, found.systems, found.topics, card["measure"] if name in (TEST, TRAIN) else "value")

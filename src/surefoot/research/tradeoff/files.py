"""The folder of a trade-off: tables that any tool reads, from which its figures are drawn."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InputError
from surefoot.io.atomic import write_text
from surefoot.io.results import render
from surefoot.io.tables import read_scores, scores_csv
from surefoot.research.tradeoff.model_store import HISTORY, read_history
from surefoot.research.tradeoff.search import Choice
from surefoot.research.tradeoff.sweep import Sweep
from surefoot.scores import Scores

SEARCH = "search.json"
CARD, TEST, TRAIN, CHURN, FEATURE = "tradeoff.json", "scores.csv", "train-scores.csv", "churn.csv", "feature.csv"


def write_sweep(sweep: Sweep, folder: str | os.PathLike[str]) -> None:
    """Write the scores, distances and features of each query beside the models; the card last."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    tables = {TEST: sweep.test, TRAIN: sweep.train, CHURN: sweep.churn, FEATURE: sweep.feature}
    for name, scores in tables.items():
        if scores is not None:
            write_text(place / name, scores_csv(scores))
    card = {
        "objective": sweep.objective,
        "measure": sweep.test.measure,
        "alphas": sweep.alphas.tolist(),
        "trees": sweep.trees,
        "validated": sweep.validated,
        "tables": [name for name, scores in tables.items() if scores is not None],
        "notes": sweep.notes,
    }
    write_text(place / CARD, json.dumps(card, indent=2, ensure_ascii=False) + "\n")


def read_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """The trade-off that `write_sweep` wrote."""
    place = Path(folder)
    try:
        card = json.loads((place / CARD).read_text("utf-8"))
        alphas = np.array([float(alpha) for alpha in card["alphas"]])
        return Sweep(
            card["objective"],
            alphas,
            tuple(card["trees"]),
            _scores(place, TEST, card),
            _scores(place, TRAIN, card),
            tuple(read_history(place / f"alpha-{alpha:g}" / HISTORY) for alpha in alphas),
            card["validated"],
            _scores(place, CHURN, card) if CHURN in card["tables"] else None,
            _scores(place, FEATURE, card) if FEATURE in card["tables"] else None,
            tuple(card["notes"]),
        )
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(place, f"holds no trade-off (no {CARD}); make one with surefoot tradeoff -o") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(place / CARD, "is not the card of a trade-off; make it again") from None


def write_choice(choice: Choice, folder: str | os.PathLike[str]) -> None:
    """Write a search and its recommendation beside its models."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write_text(place / SEARCH, render(choice, "json"))


def read_choice(folder: str | os.PathLike[str]) -> Choice:
    """The search that `write_choice` wrote."""
    place = Path(folder)
    try:
        kept = json.loads((place / SEARCH).read_text("utf-8"))
        columns = {name: np.array([row[name] for row in kept["rows"]]) for name in kept["rows"][0]}
        texts = (tuple(kept["notes"]), tuple(kept["recommendation"]), kept["measure"], kept["baseline"])
        return Choice(kept["signature"], columns, *texts)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(place, f"holds no search (no {SEARCH}); make one with surefoot tradeoff --search -o") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise InputError(place / SEARCH, "is not the file of a search; make it again") from None


def _scores(place: Path, name: str, card: dict[str, Any]) -> Scores:
    found = read_scores(place / name)
    return Scores(found.values, found.systems, found.topics, card["measure"] if name in (TEST, TRAIN) else "value")

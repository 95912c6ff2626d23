"""Bags: several trainings that differ by chance, averaged into one model. Fewer queries then lose by accident.

Only LightGBM has a way to write the average as one model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from surefoot.errors import SurefootError
from surefoot.learn.early_stopping import Progress, Report
from surefoot.learn.settings import Settings

RANDOMNESS = {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.7}
"""What makes bags differ: each tree sees a part of the documents and of the features."""

SEED_GAP = 1000
"""Between the seeds of two bags, beyond the iterations of a training, which increase them by one each."""


def bag_settings(settings: Settings, bag: int) -> Settings:
    """The settings of one bag: those of the training itself, if it has one bag only.

    The seeds of two bags are further apart than a training increases them.
    """
    if settings.n_bags == 1:
        return settings
    from surefoot.learn.engines.lightgbm import SEEDS, canonical

    params = canonical(settings.params)
    if params.get("linear_tree"):
        raise SurefootError("linear trees are not averaged; leave out linear_tree, or set n_bags to 1")
    gap = (settings.n_estimators + SEED_GAP) * bag
    seeds = {name: params[name] + gap for name in ("seed", *SEEDS) if name in params}
    return replace(settings, seed=settings.seed + gap, params={**RANDOMNESS, **params, **seeds})


def bag_report(report: Report | None, bag: int, n_bags: int) -> Report | None:
    """Reports the progress of all bags together."""
    return report if report is None or n_bags == 1 else partial(_report, report, bag, n_bags)


def _report(report: Report, bag: int, n_bags: int, at: Progress) -> None:
    seconds = at.seconds_left / max(1, at.n_iterations - at.iteration)
    left = at.seconds_left + seconds * at.n_iterations * (n_bags - bag - 1)
    done, total = bag * at.n_iterations + at.iteration, n_bags * at.n_iterations
    report(replace(at, iteration=done, n_iterations=total, seconds_left=left))


def average(texts: Sequence[str]) -> str:
    """The mean of LightGBM models over the same features: all their trees, each leaf divided by the number of models.

    One model is returned as it is.
    """
    if len(texts) == 1:
        return texts[0]
    import lightgbm as lgb

    head, *_ = texts[0].partition("Tree=0\n")
    head = "\n".join(line for line in head.splitlines() if not line.startswith("tree_sizes="))
    blocks = [block for text in texts for block in _trees(text)]
    scaled = [f"Tree={index}\n{_divided(block, len(texts))}" for index, block in enumerate(blocks)]
    tail = "end of trees\n\nfeature_importances:\n" + texts[0].partition("feature_importances:\n")[2]
    # LightGBM writes it again, with the sizes and importances of all trees.
    return str(lgb.Booster(model_str=f"{head}\n\n{''.join(scaled)}{tail}").model_to_string())


def _trees(text: str) -> list[str]:
    """The trees of a model's text, without their numbers."""
    body = text[text.index("Tree=0\n") : text.index("end of trees")]
    return [part.partition("\n")[2] for part in body.split("Tree=")[1:]]


def _divided(block: str, by: int) -> str:
    lines = block.splitlines()
    for index, line in enumerate(lines):
        key, _, values = line.partition("=")
        if key in ("leaf_value", "internal_value", "shrinkage"):
            lines[index] = f"{key}={' '.join(repr(float(value) / by) for value in values.split(' ') if value)}"
    return "\n".join(lines) + "\n"

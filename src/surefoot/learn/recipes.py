"""Settings to begin with."""

from __future__ import annotations

from dataclasses import replace

from surefoot.learn.settings import Settings

SAFE = Settings(
    "ucro",
    alpha=0.0,
    n_bags=8,
    n_estimators=300,
    learning_rate=0.05,
    num_leaves=15,
    min_child_samples=50,
    early_stopping_rounds=50,
    stop_on="mean",
    guard="trees",
)
"""Bags of small trees for the mean, guarded by the baseline; docs/recipe.md shows what it did."""

RECIPES = {"safe": SAFE, "bags": replace(SAFE, guard=None)}
"""By the names that plans of experiments have for them: the recipe, and its bags alone."""

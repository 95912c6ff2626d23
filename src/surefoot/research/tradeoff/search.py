"""Choose alpha for me: a search for models with high effectiveness and low risk, and what it recommends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot.analysis.design import Setting
from surefoot.errors import SurefootError
from surefoot.learn.baseline import Missing
from surefoot.learn.data import RankingData
from surefoot.learn.models import INSTALL, Model
from surefoot.learn.training import Settings
from surefoot.research.tradeoff.model_store import Report, Workshop, at_alpha
from surefoot.research.tradeoff.summary import Outcome, verdict
from surefoot.research.tradeoff.sweep import ALPHAS
from surefoot.results import Column, Result, signature
from surefoot.risk import frisk, sweep_of
from surefoot.scores import FloatArray, Scores
from surefoot.stats.intervals import How, difference_intervals, interval_columns

if TYPE_CHECKING:
    import optuna

GIVE_UP = 0.01
"""The share of the gain-only model's effectiveness that one may give up for less risk."""
GAIN_ONLY_EACH = 3
"""One trial in so many is gain-only, so that what others are measured against is tuned too."""
REACH = 4
"""Settings of trees are searched from this many times less to as many times more than what is given."""

Engine = dict[str, tuple[str, float]]
SEARCHED: dict[str, Engine] = {
    "lightgbm": {
        "leaves": ("num_leaves", 31),
        "rate": ("learning_rate", 0.1),
        "docs_per_leaf": ("min_child_samples", 20),
    },
    "xgboost": {"leaves": ("max_leaves", 31), "rate": ("learning_rate", 0.1)},
}
"""By engine the settings that are searched: our word, the engine's, and what is taken where none is given."""


@dataclass(frozen=True, eq=False)
class Choice(Result):
    """A row for each trial of a search; see `choose_alpha`. ``sentences`` are the recommendation."""

    sentences: tuple[str, ...] = ()
    measure: str = "score"
    baseline: str = "baseline"

    def extra(self) -> dict[str, Any]:
        """What JSON has beside the rows."""
        return {"recommendation": list(self.sentences), "measure": self.measure, "baseline": self.baseline}

    def readable(self) -> Result:
        """The front alone, the most effective first, the recommended row marked, and the recommendation below."""
        rows = np.flatnonzero(self["front"])
        rows = rows[np.argsort(-self["mean"][rows], kind="stable")]
        columns = {name: self[name][rows] for name in self.columns if not name.endswith(("_low", "_high", "front"))}
        for name in ("mean", "frisk"):
            ends = zip(self[f"{name}_low"][rows], self[f"{name}_high"][rows], strict=True)
            columns[f"{name} 95 %"] = np.array([f"{low:z.3f} to {high:z.3f}" for low, high in ends])
        return Result(self.signature, columns, (*self.sentences, *self.notes))

    @property
    def chosen(self) -> int:
        """The row of the recommended trial."""
        return int(np.flatnonzero(self["recommended"])[0])


@dataclass(frozen=True, eq=False)
class Trials:
    """The models of a search with their settings, beside the baseline on the validation queries."""

    models: dict[str, tuple[Model, Settings]]
    valid: Scores

    @property
    def alphas(self) -> FloatArray:
        """The alpha of each model."""
        return np.array([settings.alpha for _, settings in self.models.values()])

    @cached_property
    def mean(self) -> FloatArray:
        """The effectiveness of each model on the validation queries."""
        return np.asarray(self.valid.values[1:].mean(axis=1))

    @cached_property
    def risk(self) -> FloatArray:
        """The F_Risk of each model there."""
        return np.asarray(frisk(self.valid.values[1:], self.valid.values[0]))


def choose_alpha(
    settings: Settings,
    data: RankingData,
    baseline: Any,
    valid: RankingData,
    trials: int,
    alphas: Sequence[float] = ALPHAS,
    *,
    test: RankingData | None = None,
    give_up: float = GIVE_UP,
    n_resamples: int = 10_000,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    missing: Missing = "error",
    report: Report | None = None,
) -> Choice:
    """Search alpha and the settings of trees for the best trade-offs on the validation queries, and recommend one.

    Each trial trains a model and is judged by two figures: its mean effectiveness, to be large, and its F_Risk, to be
    small. The first is the gain-only model with the settings given; the others come from Optuna's TPE sampler: an alpha
    of the list (0 in every third trial), leaves, learning rate and documents per leaf up to four times less or more
    than given; the number of trees is that of the best iteration. The front are the trials that none other beats in
    both figures. Recommended is the one of least risk among those that give up no more than ``give_up`` of the best
    gain-only model's mean.

    With a ``folder`` the models are kept there and a search that was stopped goes on to the same end. ``test`` queries,
    which nothing was chosen on, are a fair judge of the recommendation. Columns: ``trial, alpha, leaves, rate,
    docs_per_leaf, trees, mean, frisk, losses, loss20, front, recommended`` and the intervals of mean and F_Risk.

    Akiba et al., *Optuna: a next-generation hyperparameter optimization framework*, KDD 2019; Ozaki et al.,
    *Multiobjective tree-structured Parzen estimator*, JAIR 2022.
    """
    _check(settings, trials, give_up)
    how = How(n_resamples=n_resamples, seed=seed)
    shop = Workshop(data, baseline, valid, missing, None if folder is None else Path(folder), report)
    if test is not None:
        shop.baselines(test)  # what does not fit is said before the training, not after it
    swept = sorted({0.0, *sweep_of(alphas).tolist()})
    found = _search(shop, valid, shop.settled(settings), swept, trials, seed)
    measure, against = found.valid.measure, found.valid.systems[0]
    best, chosen = recommend(found.mean, found.risk, found.alphas, give_up)
    stated = signature(
        "search", measure=measure, objective=settings.objective, baseline=against, alpha=swept,
        topics=len(found.valid.topics), trials=trials, give_up=give_up, **how.stated(),
    )  # fmt: skip
    columns = {**_columns(found, settings.engine, how), "recommended": np.arange(trials) == chosen}
    sentences = _recommendation(shop, found, best, chosen, test, how)
    return Choice(stated, columns, _notes(shop, found), sentences, measure, against)


def _check(settings: Settings, trials: int, give_up: float) -> None:
    if settings.objective == "lambdamart":
        raise SurefootError("lambdamart has no alpha, so there is nothing to choose; choose another objective, as ucro")
    if trials < 2 or not 0 <= give_up < 1:
        raise SurefootError("a search needs two trials or more, and a share to give up from 0 to below 1")


def pareto_front(mean: npt.ArrayLike, risk: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which points no other beats: none has as much mean and as little risk, and more or less of one of them.

    >>> pareto_front([0.5, 0.4, 0.45, 0.5], [0.03, 0.01, 0.03, 0.02])
    array([False,  True, False,  True])
    """
    m, r = np.asarray(mean, dtype=np.float64), np.asarray(risk, dtype=np.float64)
    as_good = (m[:, None] >= m) & (r[:, None] <= r)
    better = as_good & ((m[:, None] > m) | (r[:, None] < r))
    return np.asarray(~better.any(axis=0))


def recommend(
    mean: npt.ArrayLike, risk: npt.ArrayLike, alphas: npt.ArrayLike, give_up: float = GIVE_UP
) -> tuple[int, int]:
    """The best gain-only trial (the largest mean at alpha 0), and the one to recommend.

    That is the one of least risk among those whose mean is at most a share of ``give_up`` below the gain-only one's; of
    equal ones the more effective. It always lies on the front or ties with a point of it.

    >>> recommend([0.40, 0.399, 0.38], [0.03, 0.02, 0.01], [0, 2, 10])
    (0, 1)
    """
    m, r, a = (np.asarray(column, dtype=np.float64) for column in (mean, risk, alphas))
    if not (a == 0).any():
        raise SurefootError("a recommendation is measured against a gain-only model; add alpha 0")
    best = int(np.argmax(np.where(a == 0, m, -np.inf)))
    allowed = np.flatnonzero(m >= (1 - give_up) * m[best])
    return best, int(allowed[np.lexsort((-m[allowed], r[allowed]))[0]])


def _search(
    shop: Workshop, valid: RankingData, settings: Settings, alphas: Sequence[float], trials: int, seed: int
) -> Trials:
    """Train the trials one by one.

    Every trial has a sampler of its own seed, so that what it asks for follows from the trials before it alone, and a
    search that goes on asks for the same models as one that was never stopped.
    """
    try:
        import optuna
    except ModuleNotFoundError:
        raise SurefootError(f"{INSTALL} (no optuna)") from None

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    given, space = _space(settings, alphas)
    study = optuna.create_study(directions=["maximize", "minimize"])
    models: dict[str, tuple[Model, Settings]] = {}
    for number in range(trials):
        study.sampler = optuna.samplers.TPESampler(seed=seed + number)
        if number % GAIN_ONLY_EACH == 0:
            study.enqueue_trial({"alpha": 0.0} if number else given)
        trial = study.ask(space)
        own, name = _with(settings, trial.params), f"trial-{number:03d}"
        models[name] = (shop.make(name, own).model, own)
        scored = shop.compared({name: models[name]}, valid).values
        study.tell(trial, [float(scored[1].mean()), float(frisk(scored[1], scored[0]))])
    return Trials(models, shop.compared(models, valid))


def _space(
    settings: Settings, alphas: Sequence[float]
) -> tuple[dict[str, Any], dict[str, optuna.distributions.BaseDistribution]]:
    """The gain-only model as given, and what may be asked for."""
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

    given: dict[str, Any] = {"alpha": 0.0}
    space: dict[str, BaseDistribution] = {"alpha": CategoricalDistribution(sorted({float(one) for one in alphas}))}
    for word, (key, default) in SEARCHED[settings.engine].items():
        value = settings.params.get(key, default)
        if word == "rate":
            given[word] = float(value)
            space[word] = FloatDistribution(value / REACH, max(value, min(1.0, value * REACH)), log=True)
        else:
            given[word] = int(value)
            space[word] = IntDistribution(min(value, max(2, value // REACH)), value * REACH, log=True)
    return given, space


def _with(settings: Settings, asked: dict[str, Any]) -> Settings:
    words = {key: asked[word] for word, (key, _) in SEARCHED[settings.engine].items()}
    return at_alpha(replace(settings, params={**settings.params, **words}), asked["alpha"])


def _columns(found: Trials, engine: str, how: How) -> dict[str, Column]:
    setting = Setting.of(found.valid, found.valid.systems[0], list(found.models))
    bounds = interval_columns(setting, np.zeros(1), ("mean", "frisk"), how)
    outcomes = [Outcome.of(row, found.valid.values[0]) for row in found.valid.values[1:]]
    tried = [settings for _, settings in found.models.values()]
    return {
        "trial": np.arange(len(tried)),
        "alpha": found.alphas,
        **{word: np.array([one.params[key] for one in tried]) for word, (key, _) in SEARCHED[engine].items()},
        "trees": np.array([int(model.card["trees"]) for model, _ in found.models.values()]),
        "mean": found.mean,
        "mean_low": bounds["mean_low"][0],
        "mean_high": bounds["mean_high"][0],
        "frisk": found.risk,
        "frisk_low": bounds["frisk_low"][0],
        "frisk_high": bounds["frisk_high"][0],
        "losses": np.count_nonzero(found.valid.values[1:] < found.valid.values[0], axis=1),
        "loss20": np.array([outcome.loss20 for outcome in outcomes]),
        "front": pareto_front(found.mean, found.risk),
    }


def _recommendation(
    shop: Workshop, found: Trials, best: int, chosen: int, test: RankingData | None, how: How
) -> tuple[str, ...]:
    """What the chosen trial brings beside the best gain-only one, on validation queries and, if given, on test ones."""
    names = list(found.models)
    pair, alpha = (names[best], names[chosen]), found.alphas[chosen]
    validated = f"validation: {_sentence(found.valid, pair, alpha, how)}"
    if test is None or best == chosen:
        return (validated,)
    tested = shop.compared({name: found.models[name] for name in pair}, test)
    return validated, f"test: {_sentence(tested, pair, alpha, how)}"


def _sentence(scores: Scores, pair: tuple[str, str], alpha: float, how: How) -> str:
    """The chosen trial beside the best gain-only one, with intervals of the differences."""
    gain_only, chosen = pair
    if gain_only == chosen:
        return "no trial has less risk at so small a price; stay with the gain-only model"
    against = scores.values[0]
    said = verdict(
        float(alpha), scores.measure, Outcome.of(scores[gain_only], against), Outcome.of(scores[chosen], against)
    )
    found = difference_intervals(
        scores, chosen, gain_only, scores.systems[0], 0.0, measures=("mean", "frisk"), method=how.method,
        level=how.level, n_resamples=how.n_resamples, seed=how.seed,
    )  # fmt: skip
    (mean_low, risk_low), (mean_high, risk_high) = found["low"], found["high"]
    return (
        f"{said} ({100 * (1 - how.level):g} % intervals of the differences: {scores.measure} {mean_low:+.4f} to "
        f"{mean_high:+.4f}, F_Risk {risk_low:+.4f} to {risk_high:+.4f})"
    )


def _notes(shop: Workshop, found: Trials) -> tuple[str, ...]:
    mean, gain_only = found.valid.values[0].mean(), int(np.count_nonzero(found.alphas == 0))
    return (
        *shop.baselines(shop.data).notes,
        f"{found.valid.systems[0]} itself: {found.valid.measure} {mean:.4f} over {len(found.valid.topics):,} "
        "validation queries",
        f"{gain_only} of {len(found.alphas)} trials were gain-only; figures on the queries that a choice was made on "
        "flatter it, test queries don't",
    )

"""A search over alpha and the hyper-parameters of trees for models of high effectiveness and low risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot._typing import FloatArray, PathLike
from surefoot.analysis.design import Design
from surefoot.analysis.evaluate import evaluate
from surefoot.analysis.intervals import interval_columns
from surefoot.errors import SurefootError
from surefoot.learn.settings import Settings
from surefoot.results import Column, Result, signature
from surefoot.risk import frisk, normalise_alphas
from surefoot.scores import Scores
from surefoot.stats.bootstrap import BootstrapMethod
from surefoot_lab.tradeoff import ALPHAS
from surefoot_lab.tradeoff.models import DataSplit, Report, TrainedModel, Trainer, at_alpha
from surefoot_lab.tradeoff.recommendation import GIVE_UP, describe_choice, pareto_front, recommend

if TYPE_CHECKING:
    import optuna

GAIN_ONLY_EVERY = 3
"""Every third trial is gain-only, so that the reference of the others is tuned too."""
RANGE = 4
"""Hyper-parameters are searched from this many times less to this many times more than given."""

SEARCHED = {
    "lightgbm": {"leaves": "num_leaves", "rate": "learning_rate", "docs_per_leaf": "min_child_samples"},
    "xgboost": {"leaves": "num_leaves", "rate": "learning_rate"},
}
"""For each engine, the settings that are searched, by the name of their column."""


@dataclass(frozen=True)
class SearchOptions:
    """How many trials to train, over which alphas, and how much effectiveness the recommendation may give up.

    ``n_resamples`` is for the bootstrap intervals, ``seed`` for the search and the bootstrap.
    """

    trials: int
    alphas: Sequence[float] = ALPHAS
    give_up: float = GIVE_UP
    n_resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trials < 2 or not 0 <= self.give_up < 1:
            raise SurefootError("a search needs two trials or more, and a fraction to give up from 0 to below 1")

    @property
    def swept(self) -> list[float]:
        """The alphas to choose from, 0 always among them."""
        return sorted({0.0, *normalise_alphas(self.alphas).tolist()})

    @property
    def bootstrap(self) -> BootstrapMethod:
        """How intervals are computed."""
        return BootstrapMethod(n_resamples=self.n_resamples, seed=self.seed)


@dataclass(frozen=True, eq=False)
class Choice(Result):
    """One row for each trial of a search; see `choose_alpha`. ``recommendation`` holds sentences."""

    recommendation: tuple[str, ...] = ()
    measure: str = "score"
    baseline: str = "baseline"

    def extra(self) -> dict[str, Any]:
        """The recommendation, the measure and the baseline, for JSON."""
        return {"recommendation": list(self.recommendation), "measure": self.measure, "baseline": self.baseline}

    def readable(self) -> Result:
        """The front, the most effective trial first, with the recommendation among the notes."""
        rows = np.flatnonzero(self["front"])
        rows = rows[np.argsort(-self["mean"][rows], kind="stable")]
        columns = {name: self[name][rows] for name in self.columns if not name.endswith(("_low", "_high", "front"))}
        for name in ("mean", "frisk"):
            ends = zip(self[f"{name}_low"][rows], self[f"{name}_high"][rows], strict=True)
            columns[f"{name} 95 %"] = np.array([f"{low:z.3f} to {high:z.3f}" for low, high in ends])
        return Result(self.signature, columns, (*self.recommendation, *self.notes))

    @property
    def chosen(self) -> int:
        """The row of the recommended trial."""
        return int(np.flatnonzero(self["recommended"])[0])


@dataclass(frozen=True, eq=False)
class Trials:
    """The models of a search, and their scores on the validation queries, the baseline's first."""

    models: dict[str, TrainedModel]
    valid: Scores

    @property
    def alphas(self) -> FloatArray:
        """The alpha of each model."""
        return np.array([trained.settings.alpha for trained in self.models.values()])


def choose_alpha(
    settings: Settings,
    split: DataSplit,
    options: SearchOptions,
    *,
    folder: PathLike | None = None,
    report: Report | None = None,
) -> Choice:
    """Search alpha and the hyper-parameters of trees for the best trade-offs on the validation queries.

    Each trial trains a model with two objectives: its mean effectiveness, to be maximised, and its F_Risk, to be
    minimised. The first trial is the gain-only model with the settings given; the others come from Optuna's TPE
    sampler: an alpha of the list (0 in every third trial), leaves, learning rate and documents per leaf up to four
    times less or more than given; the number of trees is that of the best iteration. The front are the trials that none
    other dominates. Recommended is the one of least risk among those that give up no more than ``options.give_up`` of
    the best gain-only model's mean.

    The recommendation is also assessed on the test queries, if the split has any, on which nothing was chosen.

    Parameters
    ----------
    settings
        What to train; its objective must have an alpha.
    split
        Training, validation and, if any, test queries, and their baseline.
    options
        The number of trials, the alphas, and how much effectiveness may be given up.
    folder
        Where models are kept; a search that was interrupted continues to the same end.
    report
        Called with the name of the model in training and its progress.

    Returns
    -------
    Choice
        Columns ``trial, alpha, leaves, rate, docs_per_leaf, trees, mean, frisk, losses, loss20, front, recommended``
        and the intervals of mean and F_Risk.

    Examples
    --------
    >>> from surefoot.learn.data import RankingData
    >>> data = RankingData.of([[3.0], [1.0], [2.0], [0.0]] * 5, [2, 0, 1, 0] * 5, np.repeat(np.arange(5), 4))
    >>> split, options = DataSplit(data, "feature:0", valid=data), SearchOptions(2, [5.0], n_resamples=50)
    >>> choice = choose_alpha(Settings("ucro", n_estimators=2, n_jobs=1), split, options)
    >>> len(choice), choice.rows()[0]["alpha"]
    (2, 0.0)

    References
    ----------
    Akiba et al., *Optuna: a next-generation hyperparameter optimization framework*, KDD 2019; Ozaki et al.,
    *Multiobjective tree-structured Parzen estimator*, JAIR 2022.

    """
    if settings.objective == "lambdamart":
        raise SurefootError("lambdamart has no alpha, so there is nothing to choose; choose another objective, as ucro")
    trainer = Trainer(split, folder, report)
    if split.test is not None:
        split.baselines(split.test)  # reports a baseline that does not fit before the training, not after it
    found = _search(trainer, split.resolve(settings), options)
    columns = _columns(found, settings.engine, options.bootstrap)
    best, chosen = recommend(columns["mean"], columns["frisk"], columns["alpha"], options.give_up)
    measure, baseline = found.valid.measure, found.valid.systems[0]
    stated = signature(
        "search", measure=measure, objective=settings.objective, baseline=baseline, alpha=options.swept,
        topics=len(found.valid.topics), trials=options.trials, give_up=options.give_up,
        **options.bootstrap.signature_fields(),
    )  # fmt: skip
    columns["recommended"] = np.arange(options.trials) == chosen
    sentences = _recommendation(trainer, found, best, chosen, options.bootstrap)
    return Choice(stated, columns, _notes(split, found), sentences, measure, baseline)


def _search(trainer: Trainer, settings: Settings, options: SearchOptions) -> Trials:
    """Train the trials one after the other.

    Each trial has a sampler with a seed of its own, so that its hyper-parameters follow only from the trials before it
    and a resumed search equals an uninterrupted one.
    """
    import optuna

    valid = trainer.split.valid
    if valid is None:
        raise SurefootError("a search assesses its trials on validation queries; give some")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    given, space = _space(settings, options.swept)
    study = optuna.create_study(directions=["maximize", "minimize"])
    models: dict[str, TrainedModel] = {}
    for number in range(options.trials):
        study.sampler = optuna.samplers.TPESampler(seed=options.seed + number)
        if number % GAIN_ONLY_EVERY == 0:
            study.enqueue_trial({"alpha": 0.0} if number else given)
        trial, name = study.ask(space), f"trial-{number:03d}"
        models[name] = trainer.get(name, _with_params(settings, trial.params))
        baseline, scores = trainer.scores({name: models[name]}, valid).values
        study.tell(trial, [float(scores.mean()), float(frisk(scores, baseline))])
    return Trials(models, trainer.scores(models, valid))


def _space(
    settings: Settings, alphas: Sequence[float]
) -> tuple[dict[str, Any], dict[str, optuna.distributions.BaseDistribution]]:
    """The hyper-parameters of the gain-only model as given, and the search space."""
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

    given: dict[str, Any] = {"alpha": 0.0}
    space: dict[str, BaseDistribution] = {"alpha": CategoricalDistribution(list(alphas))}
    for column, parameter in SEARCHED[settings.engine].items():
        value = getattr(settings, parameter)
        if column == "rate":
            given[column] = float(value)
            space[column] = FloatDistribution(value / RANGE, max(value, min(1.0, value * RANGE)), log=True)
        else:
            given[column] = int(value)
            space[column] = IntDistribution(min(value, max(2, value // RANGE)), value * RANGE, log=True)
    return given, space


def _with_params(settings: Settings, sampled: dict[str, Any]) -> Settings:
    params = {parameter: sampled[column] for column, parameter in SEARCHED[settings.engine].items()}
    return at_alpha(replace(settings, **params), sampled["alpha"])


def _columns(found: Trials, engine: str, bootstrap: BootstrapMethod) -> dict[str, Column]:
    names, baseline = list(found.models), found.valid.systems[0]
    measures = evaluate(found.valid, baseline, 0.0, systems=names)
    bounds = interval_columns(Design.of(found.valid, baseline, names), np.zeros(1), ("mean", "frisk"), bootstrap)
    tried = [trained.settings for trained in found.models.values()]
    return {
        "trial": np.arange(len(tried)),
        "alpha": found.alphas,
        **{column: np.array([getattr(own, name) for own in tried]) for column, name in SEARCHED[engine].items()},
        "trees": np.array([trained.n_trees for trained in found.models.values()]),
        "mean": measures["mean"],
        "mean_low": bounds["mean_low"][0],
        "mean_high": bounds["mean_high"][0],
        "frisk": measures["frisk"],
        "frisk_low": bounds["frisk_low"][0],
        "frisk_high": bounds["frisk_high"][0],
        "losses": measures["losses"],
        "loss20": measures["loss20"],
        "front": pareto_front(measures["mean"], measures["frisk"]),
    }


def _recommendation(
    trainer: Trainer, found: Trials, best: int, chosen: int, bootstrap: BootstrapMethod
) -> tuple[str, ...]:
    """The chosen trial beside the best gain-only one, on validation queries and, if there are any, on test queries."""
    names, test = list(found.models), trainer.split.test
    pair, alpha = (names[best], names[chosen]), float(found.alphas[chosen])
    validated = f"validation: {describe_choice(found.valid, *pair, alpha, bootstrap)}"
    if test is None or best == chosen:
        return (validated,)
    tested = trainer.scores({name: found.models[name] for name in pair}, test)
    return validated, f"test: {describe_choice(tested, *pair, alpha, bootstrap)}"


def _notes(split: DataSplit, found: Trials) -> tuple[str, ...]:
    mean, gain_only = found.valid.values[0].mean(), int(np.count_nonzero(found.alphas == 0))
    return (
        *split.baselines(split.train).notes,
        f"{found.valid.systems[0]} itself: {found.valid.measure} {mean:.4f} over {len(found.valid.topics):,} "
        "validation queries",
        f"{gain_only} of {len(found.alphas)} trials were gain-only; measures on the queries that a choice was made on "
        "flatter it, those on test queries don't",
    )

"""The options of a training, each with one name, default and help.

The flags of the command line, the parameters of `RiskRanker`, plans and recipes are derived from the fields of
`Settings`, so this module imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from surefoot._lazy import optional, plugins
from surefoot._process import enter_threaded_library, hide_packages, validate_seed
from surefoot.errors import SurefootError, choose
from surefoot.lambdas import EMPTY, METRICS, Empty, MetricName, PairLoop

if TYPE_CHECKING:
    from surefoot.lambdas.metrics import Metric
    from surefoot.learn.engines import Engine

EngineName = Literal["lightgbm", "xgboost"]

ENGINES = ("lightgbm", "xgboost")
LEARNERS = ("lambdamart", "regression-trees")
VIRTUAL_BASELINES = ("MEAN", "MEDIAN", "MAX")
LARGEST_SEED = 2**31 - 1
"""The largest seed that engines take."""

GUARDS = ("second-stage", "log-rank", "z", "threshold", "any")
GUARD_ALIASES = {"none": None, "trees": "second-stage"}


def option(default: Any, text: str, flags: str = "", choices: tuple[str, ...] = ()) -> Any:
    """A field with its help, its choices, and its flags with the name of their value, as ``--n-bags --bags N``."""
    names = tuple(word for word in flags.split() if word.startswith("--"))
    metavar = next((word for word in flags.split() if word not in names), None)
    metadata = {"help": text, "flags": names, "metavar": metavar, "choices": choices}
    return field(metadata=metadata, **({"default_factory": dict} if default == {} else {"default": default}))


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """How the pairs of documents of a query are compared, under any objective; the defaults are LightGBM's.

    Parameters
    ----------
    metric : {"ndcg", "map", "mrr", "err"}
        The metric whose change by a swap of two documents is used.
    risk_metric : {"ndcg", "map", "mrr", "err"}, optional
        The metric of the risk, if it is not that of the reward.
    truncation : int or None
        Only pairs with a document above this rank are used; None: all pairs.
    sigmoid : float
        The steepness of the logistic function of score differences.
    norm : bool
        Whether to normalise by score differences and per query, as LightGBM's ``lambdarank_norm``.
    label_gain : sequence of float, optional
        The gain of each label for NDCG; by default 2^label - 1.
    max_label : int, optional
        The highest grade of the scale of ERR; by default that of the training data.
    empty : {"zero", "one", "drop"}
        The metric of a query without relevant documents, for the model and its baselines alike; "drop" leaves such
        queries out of all means and standard deviations.

    Examples
    --------
    >>> PairOptions(truncation=None).metric
    'ndcg'
    """

    metric: MetricName = option("ndcg", "metric to train for", "--metric --measure", choices=METRICS)
    risk_metric: MetricName | None = option(
        None, "metric of the risk (default: that of --metric)", "--risk-metric --risk-measure", choices=METRICS
    )
    truncation: int | None = option(30, "pairs need a document above this rank; all: every pair", "--truncation N")
    sigmoid: float = option(1.0, "steepness of the logistic function of score differences", "--sigmoid S")
    norm: bool = option(True, "normalise by score differences and per query", "--norm")
    label_gain: tuple[float, ...] | None = option(None, "gain of each label for NDCG (default: 2^label - 1)")
    max_label: int | None = option(None, "highest grade of ERR's scale (default: that of the training data)")
    empty: Empty = option("zero", "metric of a query without relevant documents", "--empty", choices=EMPTY)

    @property
    def loop(self) -> PairLoop:
        """Which pairs count, and how."""
        return PairLoop(self.truncation, self.sigmoid, self.norm)

    @property
    def trained_metric(self) -> Metric:
        """The metric whose changes by swaps are used in training."""
        from surefoot.lambdas.metrics import Metric

        return Metric(self.metric, self.truncation, None, self.label_gain, self.max_label)

    @property
    def of_risk(self) -> Self | None:
        """The options with the risk's metric in place of the reward's; None if the two are the same."""
        if self.risk_metric in (None, self.metric):
            return None
        gains = self.label_gain if self.risk_metric == "ndcg" else None
        return replace(self, metric=self.risk_metric, risk_metric=None, label_gain=gains)

    def __post_init__(self) -> None:
        choose(self.metric, METRICS, "metric")
        choose(self.empty, EMPTY, "empty")
        if self.risk_metric is not None:
            choose(self.risk_metric, METRICS, "risk_metric")
        if self.label_gain is not None:
            object.__setattr__(self, "label_gain", tuple(self.label_gain))
        if self.truncation is not None and self.truncation < 1:
            raise SurefootError(f"truncation must be 1 or more, or None for all pairs; got {self.truncation}")
        if not self.sigmoid > 0:
            raise SurefootError(f"sigmoid must be above 0; got {self.sigmoid:g}")


@dataclass(frozen=True)
class Settings(PairOptions):
    """The settings of a training, without its data, named as in scikit-learn and LightGBM.

    Parameters
    ----------
    objective : str
        A name of `surefoot.learn.objectives`.
    alpha : float
        The risk sensitivity: a loss weighs 1 + alpha.
    objective_options : mapping
        Options of the objective itself, such as ``{"spread": "se"}`` of saro.
    virtual_baseline : {"MEAN", "MEDIAN", "MAX"}, optional
        Compare with the MEAN, MEDIAN or MAX of several baselines on each query. The model is not one of them.
    query_feature : str, optional
        A feature of the query that is added to those of the documents: ``max:25``, ``min:25`` or ``mean:25``.
    cutoff : int
        The cutoff of the NDCG that is reported and stopped on.
    learner : str
        ``"lambdamart"``: LambdaMART under the objective; ``"regression-trees"``: trees that regress on the labels; or a
        learner that another package registers, as the linear rankers of surefoot-lab.
    engine : {"lightgbm", "xgboost"}
        The library that grows the trees.
    n_estimators, num_leaves, learning_rate, min_child_samples
        The trees, as in LightGBM, which estimates the number of documents in a leaf from the hessians, so that leaves
        may have fewer than ``min_child_samples``. XGBoost has no such parameter.
    early_stopping_rounds : int, optional
        Stop after this number of iterations without a better one on the validation queries.
    stop_on : str, optional
        The measure of the validation queries that decides which iteration is best: by default the objective's own, at
        the same alpha (the mean for lambdamart, U_Risk for ucro, T_Risk for saro and faro, GeoRisk for georisk, ...),
        or the mean without a baseline.
    n_bags : int
        The number of trainings, different by chance, that are averaged into one model. Each holds out a part of all
        queries, of training and validation, and keeps the iteration that is best on them.
    guard : str, optional
        Fit a guard on the out-of-bag scores of several bags, which blends the model with its only baseline:
        "second-stage", "log-rank", "z", "threshold", or "any": the best of the first three. It is left out if it does
        not help; with fewer than 100 queries "second-stage" means "log-rank" or "z".
    max_loss : float, optional
        The largest F_Risk of the guard, with 90 % confidence; the guard is moved towards the baseline until it holds.
    params : mapping
        Any other parameter of the engine.
    seed : int
        Random seed.
    n_jobs : int, optional
        Number of threads; None or -1: all cores. It does not change the trees.
    **pairs
        The fields of `PairOptions`.

    Examples
    --------
    >>> settings = Settings("saro", alpha=5, objective_options={"spread": "se"}, n_estimators=200)
    >>> settings.n_estimators, settings.num_leaves, settings.truncation
    (200, 31, 30)
    """

    objective: str = option(
        "ucro",
        "lambdamart, ucro, ucro-eq9, smooth, saro, saro-eq9, faro, tstar-faro, trisk, georisk, georisk-full, tail, "
        "minimax-regret, upside or churn",
        "--objective NAME",
    )
    alpha: float = option(1.0, "risk sensitivity: a loss weighs 1 + alpha", "--alpha A")
    _: KW_ONLY
    objective_options: Mapping[str, Any] = option({}, "option of the objective, such as spread=se", "--option K=V")
    virtual_baseline: Literal["MEAN", "MEDIAN", "MAX"] | None = option(
        None,
        "compare with the MEAN, MEDIAN or MAX of several baselines on each query",
        "--virtual-baseline",
        choices=VIRTUAL_BASELINES,
    )
    query_feature: str | None = option(
        None, "add the max:N, min:N or mean:N of feature N over the query as a feature", "--query-feature HOW:N"
    )
    cutoff: int = option(10, "cutoff of the reported NDCG", "--cutoff K")
    learner: str = option(
        "lambdamart",
        "lambdamart, regression-trees (which regress on labels), or a registered learner; surefoot-lab has the linear "
        "rankers afs, coordinate-ascent and adarank, whose utility is the objective's own measure",
        "--learner NAME",
    )
    engine: EngineName = option("lightgbm", "library that grows the trees", "--engine", choices=ENGINES)
    n_estimators: int = option(500, "maximum number of trees", "--n-estimators --trees N")
    num_leaves: int = option(31, "leaves of a tree", "--num-leaves --leaves N")
    learning_rate: float = option(0.1, "learning rate", "--learning-rate --rate R")
    min_child_samples: int = option(
        20,
        "minimum number of documents in a leaf, as LightGBM estimates it from hessians: some leaves have fewer; "
        "LightGBM only",
        "--min-child-samples --docs-per-leaf N",
    )
    early_stopping_rounds: int | None = option(
        None, "stop after N iterations without a better one", "--early-stopping-rounds --early-stopping N"
    )
    stop_on: str | None = option(
        None,
        "mean, urisk, trisk, georisk, tail, frisk, freward, losses or loss20 of the validation queries (default: the "
        "objective's own measure, or mean without a baseline)",
        "--stop-on MEASURE",
    )
    n_bags: int = option(
        1, "average N trainings, whose trees each see a part of the documents and features", "--n-bags --bags N"
    )
    guard: str | None = option(
        None,
        "guard by the baseline: second-stage, log-rank, z, threshold, any or none; needs bags",
        "--guard KIND",
    )
    max_loss: float | None = option(
        None, "certify that F_Risk is at most B, with 90 % confidence; needs a guard", "--max-loss B"
    )
    params: Mapping[str, Any] = option({}, "any other parameter of the engine", "--param K=V")
    seed: int = option(0, "random seed", "--seed S")
    n_jobs: int | None = option(None, "number of threads (default: all cores)", "--n-jobs --threads N")

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(self.engine, ENGINES, "engine")
        if self.virtual_baseline is not None:
            choose(self.virtual_baseline, VIRTUAL_BASELINES, "virtual_baseline")
        if self.n_jobs == -1:
            object.__setattr__(self, "n_jobs", None)
        validate_seed(self.seed, LARGEST_SEED)
        for name in ("n_estimators", "early_stopping_rounds", "cutoff", "n_bags", "n_jobs"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise SurefootError(f"{name} must be 1 or more; got {number}")
        if self.model_engine != self.engine and self.n_bags > 1:
            raise SurefootError(f"learner {self.learner} trains one model; set n_bags to 1, or learner to lambdamart")
        object.__setattr__(self, "guard", GUARD_ALIASES.get(str(self.guard), self.guard))
        if self.guard is not None:
            choose(self.guard, GUARDS, "guard")
            if self.n_bags < 2:
                raise SurefootError("a guard is fitted on queries that a bag did not see; set n_bags to 2 or more")
        if self.max_loss is not None and (self.guard is None or not 0 < self.max_loss < 1):
            raise SurefootError("max_loss must lie between 0 and 1, and needs a guard; set guard to second-stage")

    @property
    def model_engine(self) -> str:
        """The library that grows the trees, or the registered engine of the learner."""
        if self.learner in LEARNERS:
            return self.engine
        others = {learner: name for name, engine in registered_engines().items() for learner in engine.learners}
        return others[choose(self.learner, (*LEARNERS, *others), "learner")]

    @property
    def reported_metric(self) -> Metric:
        """The metric that is reported and stopped on."""
        from surefoot.lambdas.metrics import Metric

        cutoff = self.cutoff if self.metric == "ndcg" else None
        return Metric(self.metric, None, cutoff, self.label_gain, self.max_label)

    def identity(self) -> dict[str, Any]:
        """The fields that the model depends on: all but the number of threads."""
        return {name: value for name, value in asdict(self).items() if name != "n_jobs"}


def registered_engines() -> dict[str, Engine]:
    """The engines of other distributions by name; they register them by the entry-point group ``surefoot.engines``."""
    return {name: engine for name, _, engine in plugins("surefoot.engines")}


def engine_of(name: str) -> Engine:
    """The engine of this name; an error if its library is not installed."""
    enter_threaded_library()
    if name not in ENGINES:
        return registered_engines()[name]
    with hide_packages("dask", "pandas", "sklearn"):
        engine: Engine = optional(f"surefoot.learn.engines.{name}").ENGINE
    return engine


FIELDS = {option.name: option for option in fields(Settings)}
"""The options by name."""

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
    guard="second-stage",
)
"""Bags of small trees for the mean, guarded by the baseline; docs/studies/recipe.md has results."""

RECIPES = {"safe": SAFE, "bags": replace(SAFE, guard=None)}
"""The recipe, and its bags without the guard, by their names in plans of experiments."""

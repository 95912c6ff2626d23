"""The plan of an experiment (data, folds, baselines, objectives, hyper-parameters), and plans in TOML files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, choose, did_you_mean, listed
from surefoot.io.small_files import read_toml
from surefoot_lab.experiments.tables import LABELS, MEASURES

if TYPE_CHECKING:
    from surefoot.lambdas import Empty, MetricName
    from surefoot.lambdas.metrics import Metric

FULL_SIZE = 723_000
"""Training documents in a fold of MSLR-WEB10K, for which the papers chose their numbers of documents per leaf."""

MULTI_BASELINE = ("tstar-faro", "georisk", "georisk-full")
"""Objectives that compare with all learned baselines, where there are any."""

LEARNED = ("LambdaMART", "GBRT", "AFS", "AdaRank", "AdaRank-improving", "CoordinateAscent")
COLUMNS = ("reward", "risk", "reward_risk", "wins", "losses", "win_loss", "loss20")


@dataclass(frozen=True)
class TreeSettings:
    """The hyper-parameters of a training's trees; early stopping keeps the best iteration on validation queries."""

    min_child_samples: int
    num_leaves: int
    learning_rate: float
    n_estimators: int
    early_stopping: bool


@dataclass(frozen=True)
class Plan:
    """The plan of an experiment.

    Every objective is trained at every alpha, beside plain LambdaMART. ``recipes`` are trained with their own
    hyper-parameters but for the largest number of trees, and on validation queries too: "safe" is that of
    `surefoot train --safe`, guarded by the single baseline, "bags" the same without its guard. ``held_out`` is the
    fraction of queries that train the ``learned`` baselines (two thirds to train, one third to validate); the others
    are in ``folds`` random folds, or in those of the data. Where ``docs_per_leaf``, ``leaves`` and ``rates`` leave a
    choice, the values that are best for LambdaMART on the validation queries of a fold serve all objectives there;
    learned baselines take the first. If ``trees`` is one number it is the largest number of trees, and validation
    picks the iteration by the measure that the objective is trained for; if several, their number is part of the
    choice.

    ``scaled`` reduces docs per leaf for data smaller than MSLR-WEB10K. ``query_max`` adds the query's largest baseline
    score to the features. ``tradeoff`` adds the analyses of `surefoot tradeoff`, over all folds. ``truncation``,
    ``sigmoid`` and ``norm`` are those of `Settings`, ``spread`` is that of saro, faro and tstar-faro. ``cutoffs`` are
    those of the reported NDCG, the main one first. ``columns`` are the measures shown, ``published`` the file of the
    paper's table.
    """

    name: str = "experiment"
    data: tuple[str, ...] = ()
    baseline: str | None = None
    learned: tuple[str, ...] = ()
    held_out: float = 0.0
    folds: int = 5
    own_folds: bool = True
    objectives: tuple[str, ...] = ("ucro",)
    alphas: tuple[float, ...] = (1.0, 5.0)
    recipes: tuple[str, ...] = ()
    docs_per_leaf: tuple[int, ...] = (20,)
    leaves: tuple[int, ...] = (31,)
    rates: tuple[float, ...] = (0.1,)
    trees: tuple[int, ...] = (300,)
    scaled: bool = False
    metric: MetricName = "ndcg"
    cutoffs: tuple[int, ...] = (10,)
    truncation: int | None = 30
    sigmoid: float = 1.0
    norm: bool = True
    spread: str = "sd"
    empty: Empty = "zero"
    query_max: bool = False
    tradeoff: bool = False
    columns: tuple[str, ...] = COLUMNS
    published: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self._validate_names()
        self._validate_numbers()

    def _validate_names(self) -> None:
        from surefoot.learn.objectives import OBJECTIVES
        from surefoot.learn.settings import RECIPES

        for names, allowed, what in (
            (self.objectives, OBJECTIVES, "objectives"), (self.learned, LEARNED, "learned baselines"),
            (self.recipes, RECIPES, "recipes"),
            (self.columns, MEASURES, "columns"), ((self.metric,), ("ndcg", "map", "mrr", "err"), "metric"),
            ((self.empty,), ("zero", "one", "drop"), "empty"), ((self.spread,), ("sd", "se", "jforests"), "spread"),
        ):  # fmt: skip
            for name in names:
                choose(name, allowed, what)
            if len(set(names)) < len(names):
                raise SurefootError(f"{what}: each may be named once; got {', '.join(names)}")
        if bool(self.learned) != (self.held_out > 0):
            raise SurefootError("learned baselines and the fraction of held-out queries that trains them go together")
        if self.metric != "ndcg" and self.cutoffs:
            raise SurefootError(f"cutoffs belong to ndcg, not to {self.metric}; leave them empty")
        if self.metric == "ndcg" and not self.cutoffs:
            raise SurefootError("ndcg needs a cutoff, such as 10")

    def _validate_numbers(self) -> None:
        if self.folds < 3:
            raise SurefootError(f"folds must be 3 or more, to train, to validate and to test; got {self.folds}")
        if not 0 <= self.held_out < 1:
            raise SurefootError(f"held-out must be a fraction of 0 or more, below 1; got {self.held_out:g}")
        for name, least in (("docs_per_leaf", 1), ("leaves", 2), ("trees", 1), ("cutoffs", 1)):
            numbers = getattr(self, name)
            if (name != "cutoffs" and not numbers) or any(number < least for number in numbers):
                raise SurefootError(f"{name.replace('_', '-')} must be whole numbers of {least} or more; got {numbers}")
        if not self.rates or any(not rate > 0 for rate in self.rates):
            raise SurefootError(f"rates must be above 0; got {self.rates}")
        if any(not alpha >= 0 for alpha in self.alphas):
            raise SurefootError(f"alphas must be 0 or more; got {self.alphas}")

    def changed(self) -> dict[str, tuple[object, object]]:
        """The fields, but for the data, in which a published protocol was changed: its own value, and the one here.

        >>> PROTOCOLS["sigir2014"].with_trees(50).changed()
        {'trees': ((800,), (50,))}
        """
        protocol = PROTOCOLS.get(self.name)
        names = [field.name for field in fields(self) if field.name != "data"] if protocol else []
        pairs = {name: (getattr(protocol, name), getattr(self, name)) for name in names}
        return {name: (theirs, ours) for name, (theirs, ours) in pairs.items() if theirs != ours}

    @property
    def as_published(self) -> bool:
        """Whether this is a published protocol with no change but the data.

        >>> PROTOCOLS["sigir2016"].as_published, PROTOCOLS["sigir2016"].with_trees(50).as_published
        (True, False)
        """
        return replace(self, data=()) == PROTOCOLS.get(self.name)

    def with_trees(self, most: int) -> Plan:
        """The plan with at most this many trees.

        A plan that chooses one number of trees for all alphas still does: it has half as many to choose from too.

        >>> PROTOCOLS["sigir2012"].with_trees(150).trees, PROTOCOLS["sigir2012"].with_trees(50).trees
        ((50, 100, 150), (25, 50))
        """
        if len(self.trees) == 1 or most == 1:
            return replace(self, trees=(most,))
        return replace(self, trees=(*([number for number in self.trees if number < most] or [most // 2]), most))

    def with_changes(
        self,
        *,
        data: Sequence[str] | None = None,
        baseline: str | None = None,
        seed: int | None = None,
        trees: int | None = None,
    ) -> Plan:
        """The plan with other data, another baseline or seed, and at most this many trees, where given."""
        changes = {"data": tuple(data) if data else None, "baseline": baseline or None, "seed": seed}
        plan = replace(self, **{name: value for name, value in changes.items() if value is not None})  # type: ignore[arg-type]
        return plan if trees is None else plan.with_trees(trees)

    def learners(self) -> list[tuple[str, float]]:
        """Objectives and alphas: plain LambdaMART first, then those that differ from it, then recipes.

        Examples
        --------
        >>> PROTOCOLS["sigir2016"].learners()[:3]
        [('lambdamart', 0.0), ('ucro', 1.0), ('ucro', 5.0)]
        """
        others = [name for name in self.objectives if name != "lambdamart"]
        objectives = [(name, alpha) for name in others for alpha in self.alphas if alpha > 0]
        return [("lambdamart", 0.0), *objectives, *((name, 0.0) for name in self.recipes)]

    def objective_options(self, objective: str) -> dict[str, str]:
        """The options of an objective: the spread, for those that have one, unless it is the usual one."""
        adaptive = objective in ("saro", "saro-eq9", "faro", "tstar-faro")
        return {"spread": self.spread} if adaptive and self.spread != "sd" else {}

    def uses_learned(self, objective: str) -> bool:
        """Whether an objective compares with the learned baselines rather than the single one."""
        return objective in MULTI_BASELINE and bool(self.learned)

    def grid(self, rows: int) -> list[TreeSettings]:
        """The hyper-parameters to choose from on data of this many documents, each with the largest number of trees."""
        docs = dict.fromkeys(self.docs_of(number, rows) for number in self.docs_per_leaf)
        choices = product(docs, self.leaves, self.rates)
        return [TreeSettings(own, leaves, rate, max(self.trees), early_stopping=True) for own, leaves, rate in choices]

    def docs_of(self, docs_per_leaf: int, rows: int) -> int:
        """Docs per leaf for data of this many documents.

        A fold trains on three fifths of them; from nine tenths of MSLR-WEB10K on they are not scaled.

        >>> plan = PROTOCOLS["sigir2016"]
        >>> plan.docs_of(1500, rows=1_200_192), plan.docs_of(1500, rows=15_211), plan.docs_of(1500, rows=300)
        (1500, 19, 1)
        """
        fraction = 0.6 * rows / FULL_SIZE
        return docs_per_leaf if not self.scaled or fraction > 0.9 else max(1, round(docs_per_leaf * fraction))

    @property
    def main_cutoff(self) -> int:
        """The cutoff of the main metric; 10 for metrics without one."""
        return self.cutoffs[0] if self.cutoffs else 10

    def metrics(self, top: int | None = None) -> dict[str, Metric]:
        """The reported metrics by name, the main one first; ``top`` is the highest grade of ERR's scale."""
        from surefoot.lambdas.metrics import Metric

        every = [Metric(self.metric, cutoff=cutoff, max_label=top) for cutoff in self.cutoffs or (None,)]
        return {metric.short_name: metric for metric in every}


def label(objective: str, alpha: float) -> str:
    """A learner's name among the systems of a score table.

    >>> label("ucro", 5.0), label("lambdamart", 0.0), label("safe", 0.0)
    ('U-CRO alpha 5', 'LambdaMART', 'recipe safe')
    """
    name = LABELS.get(objective, objective)
    return name if not alpha else f"{name} alpha {alpha:g}"


PROTOCOLS = {
    plan.name: plan
    for plan in (
        Plan(
            "sigir2012", objectives=("ucro",), alphas=(1.0, 5.0, 10.0, 20.0, 30.0), docs_per_leaf=(500, 1000, 1500),
            leaves=(10, 25, 50), rates=(0.025, 0.05, 0.075), trees=(50, 100, 200, 400, 800), scaled=True,
            cutoffs=(10, 1), empty="drop", query_max=True, tradeoff=True, columns=("gain", *COLUMNS),
        ),
        Plan(
            "sigir2014", objectives=("ucro", "saro", "faro"), alphas=(1.0, 5.0, 10.0, 20.0),
            docs_per_leaf=(500, 1000), leaves=(50,), rates=(0.075,), trees=(800,), scaled=True, cutoffs=(10, 1),
            empty="drop", columns=("reward", "risk", "risk_reward", "loss_win", "losses", "wins", "loss20"),
            published="sigir2014-table3-mslr",
        ),
        Plan(
            "sigir2016", learned=("LambdaMART", "GBRT", "AFS", "AdaRank-improving"), held_out=0.2,
            objectives=("ucro", "faro", "tstar-faro", "georisk"), docs_per_leaf=(1500,), leaves=(50,), rates=(0.1,),
            trees=(500,), scaled=True, published="sigir2016-table7-mslr",
        ),
    )
}  # fmt: skip
"""Wang, Bennett and Collins-Thompson, SIGIR 2012; Dinçer, Macdonald and Ounis, SIGIR 2014 and SIGIR 2016."""


KINDS: dict[str, type] = {
    "name": str, "data": str, "baseline": str, "learned": str, "held_out": float, "folds": int, "own_folds": bool,
    "objectives": str, "alphas": float, "recipes": str, "docs_per_leaf": int, "leaves": int, "rates": float,
    "trees": int, "scaled": bool, "metric": str, "cutoffs": int, "truncation": int, "sigmoid": float, "norm": bool,
    "spread": str, "empty": str, "tradeoff": bool, "columns": str, "seed": int,
}  # fmt: skip
KIND_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
LISTS = tuple(field.name for field in fields(Plan) if isinstance(field.default, tuple))


def load_plan(name: str) -> Plan:
    """A published plan by name, or the plan in a TOML file."""
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if Path(name).suffix != ".toml":
        hint = did_you_mean(name, PROTOCOLS)
        raise SurefootError(f"no experiment {name!r}{hint}; there are {', '.join(PROTOCOLS)}, or name a .toml file")
    return read_plan(name)


def read_plan(path: PathLike) -> Plan:
    """Read the plan in a TOML file.

    Keys are the fields of `Plan`, with hyphens, except ``query_max`` and ``published``, which only the published
    protocols have; a list of one value may be written as the value, and ``truncation`` may be "all". ``protocol`` names
    a published plan to start from.
    Data files are looked for in the plan's folder first.

    Parameters
    ----------
    path
        The TOML file.

    Returns
    -------
    Plan
        The plan, named as the file.

    """
    found = read_toml(path).content
    try:
        start = _start(path, found)
        given = {_field(key): _value(key, value) for key, value in found.items() if key != "protocol"}
        if "data" in given:
            given["data"] = tuple(_resolve(path, name) for name in given["data"])
        return replace(start, **given)
    except InputError:
        raise
    except SurefootError as error:
        raise InputError(path, str(error)) from None


def _start(path: PathLike, found: dict[str, Any]) -> Plan:
    protocol = found.get("protocol")
    if protocol is None:
        return Plan(name=Path(path).stem)
    # The published table does not apply to a changed plan.
    plan = PROTOCOLS[choose(str(protocol), PROTOCOLS, "protocol")]
    return replace(plan, name=Path(path).stem, published=None)


def _field(key: str) -> str:
    name = key.replace("-", "_")
    if name not in KINDS:
        known = listed(("protocol", *(field.replace("_", "-") for field in KINDS)), most=len(KINDS) + 1)
        raise SurefootError(f"unknown key {key!r}; the known ones are {known}")
    return name


def _value(key: str, value: object) -> Any:
    name = _field(key)
    if (name, value) == ("truncation", "all"):
        return None
    kind = KINDS[name]
    items = value if isinstance(value, list) else [value]
    allowed = (int, float) if kind is float else (kind,)
    if any(type(item) not in allowed for item in items) or (isinstance(value, list) and name not in LISTS):
        raise SurefootError(
            f"{key} should be {KIND_NAMES[kind]}{', or a list' if name in LISTS else ''}; got {value!r}"
        )
    converted = tuple(kind(item) for item in items)
    return converted if name in LISTS else converted[0]


def _resolve(path: PathLike, name: str) -> str:
    """A data file in the plan's folder, or the name as it is."""
    file = Path(path).parent / name
    return str(file) if file.exists() else name

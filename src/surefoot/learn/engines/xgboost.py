"""Boosting by XGBoost: the same objectives and kernels, a plain XGBoost model out.

XGBoost passes scores to the objective in float32, so that documents may tie that do not in LightGBM, and it chooses
splits differently: the models of the two engines are similar in quality, but not tree by tree.

XGBoost's own rank:ndcg differs from this objective at alpha = 0. It doubles the hessian, so its steps are half as
long; by default it takes pairs with one of the top documents (``lambdarank_pair_method=topk``), and it normalises
lambdas differently. NDCG is similar.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xgboost

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot.learn.settings import Settings
from surefoot.learn.validation import RESEED_EVERY

if TYPE_CHECKING:
    from surefoot.learn.run import TrainingRun

LEAF_WISE = {
    "tree_method": "hist",
    "grow_policy": "lossguide",
    "max_depth": 0,
    "base_score": 0.0,
    "disable_default_eval_metric": True,
    "seed_per_iteration": True,
    "verbosity": 1,
}
"""Trees that grow by leaves; random numbers that depend on the iteration, so that training can be resumed."""

OURS = {
    "objective": "objective",
    "eval_metric": "metric",
    "lambdarank_num_pair_per_sample": "truncation",
    "lambdarank_pair_method": "truncation",
    "lambdarank_normalization": "norm",
    "num_boost_round": "n_estimators",
    "n_estimators": "n_estimators",
    "early_stopping_rounds": "early_stopping_rounds",
}
"""Parameters of XGBoost that have a name in `Settings`."""

BAGS = {"subsample": 0.8, "colsample_bytree": 0.7}
"""Bags differ because each tree sees a part of the documents and of the features."""

RANDOM = ("colsample_bytree", "colsample_bylevel", "colsample_bynode")
"""XGBoost draws random numbers unless these parameters are 1. Rows (``subsample``) are drawn by `RowSample`."""

LEAF = -1
"""The child of a node that has none."""

VALUES_AT_ONCE = 1 << 22
"""Values of features that XGBoost gets at once; it never has a copy of all of them."""


class XGBoost:
    """The engine; see `surefoot.learn.engines.Engine`."""

    error: type[Exception] = xgboost.core.XGBoostError
    version: str = xgboost.__version__
    draws_by_key = True

    def params(self, settings: Settings) -> dict[str, Any]:
        """XGBoost has no minimum number of documents in a leaf."""
        threads = {} if settings.n_jobs is None else {"nthread": settings.n_jobs}
        trees = {"learning_rate": settings.learning_rate, "max_leaves": settings.num_leaves, "seed": settings.seed}
        return {**threads, **trees, **settings.params}

    def validate_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        for key in params:
            if key in OURS:
                raise SurefootError(f"XGBoost's {key} is {OURS[key]} here; give it by that name")
        for name, value in (("booster", "gbtree"), ("tree_method", "hist")):
            if params.get(name, value) != value:
                raise SurefootError(
                    f"only {name}={value} can be interrupted, as checkpoints and early stopping do; leave it out"
                )
        return {**LEAF_WISE, **params}

    def bag_params(self, params: Mapping[str, Any], seed_gap: int) -> dict[str, Any]:
        seeds = {name: params[name] + seed_gap for name in ("seed", "random_state") if name in params}
        return {**BAGS, **params, **seeds}

    def average(self, texts: Sequence[str]) -> str:
        """All trees of all models, each leaf divided by the number of models; ``base_score`` is 0."""
        if len(texts) == 1:
            return texts[0]
        first, *others = (json.loads(text) for text in texts)
        parts = [model["learner"]["gradient_booster"]["model"] for model in (first, *others)]
        trees = [tree for part in parts for tree in part["trees"]]
        for number, tree in enumerate(trees):
            tree["id"] = number
            for node, left in enumerate(tree["left_children"]):
                if left == LEAF:  # a leaf's value is where other nodes have their threshold
                    tree["split_conditions"][node] /= len(texts)
            tree["base_weights"] = [weight / len(texts) for weight in tree["base_weights"]]
        merged = parts[0]
        merged["trees"], merged["tree_info"] = trees, [0] * len(trees)
        merged["iteration_indptr"] = list(range(len(trees) + 1))
        merged["gbtree_model_param"]["num_trees"] = str(len(trees))
        return text_of(self.load(json.dumps(first)), len(trees))

    def train(self, run: TrainingRun) -> str:
        if not (isinstance(run.inputs.categorical_feature, str) and run.inputs.categorical_feature == "auto"):
            raise SurefootError("categorical features are given to XGBoost by params={'feature_types': [...]}")
        params, history = dict(run.params), run.history
        types = params.pop("feature_types", None)
        booster = _as_booster(run.inputs.init_model)
        before = 0 if booster is None else booster.num_boosted_rounds()
        saved = run.resume(is_random(params))
        if history.iterations:
            booster = self.load(saved)[: before + history.trees]
        if not history.finished:
            booster = _boost(booster, run, before, params, types)
        if booster.feature_names is None and run.data.feature_names:
            booster.feature_names = list(run.data.feature_names)  # XGBoost leaves them out on a worker without rows
        return text_of(booster, before + history.best_trees)

    def load(self, text: str) -> Any:
        booster = xgboost.Booster()
        booster.load_model(bytearray(text, "utf-8"))
        return booster

    def predict(self, booster: Any, features: Any) -> Any:
        """Predict part by part, without a DMatrix: on a cluster its constructor waits for all workers."""
        parts = [np.ravel(booster.inplace_predict(part)) for part in _parts(features)]
        return np.concatenate([np.zeros(0, np.float32), *parts])

    def importances(self, booster: Any, features: int) -> FloatArray:
        names = booster.feature_names or [f"f{index}" for index in range(features)]
        gains = booster.get_score(importance_type="total_gain")
        return np.array([gains.get(name, 0.0) for name in names], np.float64)


ENGINE = XGBoost()


def _boost(booster: Any, run: TrainingRun, before: int, params: dict[str, Any], types: Any) -> Any:
    """As `xgboost.train`, but iterations are counted from those that are done."""
    history, validation = run.history, run.validation
    if not run.shared:
        bins = None if before else {name: value for name, value in params.items() if name in ("max_bin", "nthread")}
        run.shared["training"] = matrix_of(run.data, types, bins)
        held_out = [] if validation is None else [validation.data]
        run.shared["evals"] = [(matrix_of(data, types, bins, run.shared["training"]), "valid") for data in held_out]
    training, evals = run.shared["training"], run.shared["evals"]
    callbacks = [*run.inputs.callbacks, _AfterIteration(run, before)]
    container = xgboost.callback.CallbackContainer(callbacks, partial(_measure, run), output_margin=True)
    done, random = len(history.iterations), is_random(params)
    sample = RowSample(run.data, params.pop("subsample", 1.0), int(params.get("seed", 0)))
    for iteration in range(done, history.n_iterations):
        if iteration == done:
            booster = xgboost.Booster(params, [training, *(matrix for matrix, _ in evals)], model_file=booster)
            container.before_training(booster)
        elif random and iteration % RESEED_EVERY == 0:
            _reseed(booster)
        if container.before_iteration(booster, iteration, training, evals):
            break
        booster.update(training, iteration, fobj=partial(sample.gradients, run.objective, iteration))
        if container.after_iteration(booster, iteration, training, evals):
            break
    return container.after_training(booster)


class RowSample:
    """A part of the rows for each iteration, drawn by the hash of the query's id and the row's place in the query.

    So the rows are the same however they are spread over workers. As in XGBoost, rows left out have no gradient.

    >>> data = RankingData.of(np.zeros((4, 1)), [0, 1, 0, 1], ["a", "a", "b", "b"])
    >>> [RowSample(data, 0.5, seed=1).rows(iteration).tolist() for iteration in (0, 1)]
    [[False, True, False, True], [False, False, False, False]]
    """

    def __init__(self, data: RankingData, share: float, seed: int) -> None:
        if not 0 < share <= 1:
            raise SurefootError(f"subsample must be above 0 and at most 1; got {share:g}")
        self.share = share
        if share < 1:
            place = np.arange(data.labels.size) - data.bounds[data.query_of_row]
            queries = _mixed(data.keys.astype(np.uint64), seed)
            self.keys = _mixed(queries[data.query_of_row] + place.astype(np.uint64))

    def rows(self, iteration: int) -> npt.NDArray[np.bool_]:
        """Which rows an iteration sees."""
        return np.asarray(_mixed(self.keys, iteration) < np.uint64(int(self.share * 2**64)))

    def gradients(self, objective: Any, iteration: int, scores: Any, matrix: Any) -> tuple[Any, Any]:
        """The gradients and hessians of the objective, 0 for rows that the iteration does not see."""
        found = objective(scores, matrix)
        if self.share == 1:
            return tuple(found)
        rows = self.rows(iteration)
        gradients, hessians = (np.where(rows, values, np.float32(0)) for values in found)
        return gradients, hessians


def _mixed(keys: npt.NDArray[np.uint64], number: int = 0) -> npt.NDArray[np.uint64]:
    """Keys and a number, mixed into uniform bits by the finaliser of SplitMix64."""
    keys = keys + np.uint64(((number + 1) * 0x9E3779B97F4A7C15) % 2**64)
    keys = (keys ^ keys >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ keys >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ keys >> np.uint64(31))


def _reseed(booster: Any) -> None:
    """Make the booster draw features as a new one would, by a new updater of trees.

    A new booster would predict all documents again with all trees so far, which takes quadratic time.
    """
    for method in ("approx", LEAF_WISE["tree_method"]):
        booster.set_param({"tree_method": method})
        booster.save_config()  # only now XGBoost replaces the updater


def is_random(params: Mapping[str, Any]) -> bool:
    """Whether XGBoost draws random numbers while it trains."""
    return any(params.get(name, 1) != 1 for name in RANDOM)


def matrix_of(data: RankingData, types: Any = None, bins: Mapping[str, Any] | None = None, ref: Any = None) -> Any:
    """The data as XGBoost trains on them, with labels, and queries as groups.

    With ``bins``, the parameters of a QuantileDMatrix, XGBoost only keeps the bin of each value: those of ``ref``, or
    of its own quantiles. An initial model has thresholds between these bins, so its data are kept as they are.
    """
    kinds = {"feature_names": list(data.feature_names) if data.feature_names else None, "feature_types": types}
    if bins is None:
        matrix = xgboost.DMatrix(_dense(data.features), enable_categorical=types is not None, **kinds)
    else:
        rows = _Parts(data.features, kinds)
        matrix = xgboost.QuantileDMatrix(rows, ref=ref, enable_categorical=types is not None, **bins)
    matrix.set_info(label=_aligned(data.labels), group=_aligned(data.sizes))
    return matrix


def _aligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, or a new one if it is empty: one that was sent from another process may have an odd address."""
    return array if array.size else np.zeros(array.shape, array.dtype)


def _dense(features: Any) -> Any:
    """A dense matrix: XGBoost would take the zeros of a sparse one as missing."""
    return features if isinstance(features, np.ndarray) else features.toarray()


def _parts(features: Any) -> Iterator[Any]:
    """Some rows at a time, dense."""
    step = max(1, VALUES_AT_ONCE // max(1, features.shape[1]))
    for begin in range(0, features.shape[0], step):
        yield _dense(features[begin : begin + step])


class _Parts(xgboost.DataIter):
    """Passes rows to XGBoost part by part; a worker without rows passes one empty part."""

    def __init__(self, features: Any, kinds: Mapping[str, Any]) -> None:
        self.features, self.kinds = features, kinds
        self.reset()
        super().__init__()

    def reset(self) -> None:
        self.parts = _parts(self.features) if self.features.shape[0] else iter([_aligned(_dense(self.features))])

    def next(self, input_data: Any) -> bool:
        part = next(self.parts, None)
        if part is not None:
            input_data(data=part, **self.kinds)
        return part is not None


def text_of(booster: Any, rounds: int) -> str:
    """The first trees of a model, as JSON."""
    return str(booster[:rounds].save_raw("json").decode("utf-8"))


def _as_booster(model: Any) -> Any:
    if model is None or isinstance(model, xgboost.Booster):
        return model
    return xgboost.Booster(model_file=str(model))


def _measure(run: TrainingRun, scores: Any, matrix: Any) -> list[tuple[str, float]]:
    """The validation as XGBoost calls it; it rounds reported values to six decimals."""
    return [(name, value) for name, value, _ in run.measure(np.ravel(np.asarray(scores, dtype=np.float64)))]


class _AfterIteration(xgboost.callback.TrainingCallback):
    """Records each iteration, and stops when training is over."""

    def __init__(self, run: TrainingRun, before: int) -> None:
        self.run, self.before = run, before

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        return self.run.after_iteration(
            model.num_boosted_rounds() - self.before,
            lambda trees: text_of(model, self.before + trees),
        )

"""Boosting by LightGBM: the objective's gradients in, a plain LightGBM model out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np
from lightgbm.basic import LightGBMError, _ConfigAliases

from surefoot._process import quiet_failures
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot.learn.settings import Settings
from surefoot.learn.validation import RESEED_EVERY

if TYPE_CHECKING:
    from surefoot.learn.run import TrainingRun

DETERMINISTIC = {"deterministic": True, "force_col_wise": True, "feature_pre_filter": False, "verbosity": -1}
"""For the same model with any number of threads, and for data too small to split."""

OURS = {
    "objective": "objective", "metric": "metric", "lambdarank_truncation_level": "truncation",
    "lambdarank_norm": "norm", "sigmoid": "sigmoid", "label_gain": "label_gain", "eval_at": "cutoff",
    "num_iterations": "n_estimators", "early_stopping_round": "early_stopping_rounds",
    "categorical_feature": "categorical_feature",
}  # fmt: skip
"""Parameters of LightGBM that have another name in `Settings`."""

COUPLED = ("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled")
RANDOM = {
    "bagging_freq": 0, "feature_fraction": 1, "feature_fraction_bynode": 1, "extra_trees": False,
    "use_quantized_grad": False,
}  # fmt: skip
"""LightGBM draws random numbers unless these parameters have these values."""

SEEDS = ("bagging_seed", "feature_fraction_seed", "extra_seed")
BAGS = {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.7}
"""Bags differ because each tree sees a part of the documents and of the features."""


class LightGBM:
    """The engine; see `surefoot.learn.engines.Engine`."""

    error: type[Exception] = LightGBMError
    version: str = lgb.__version__
    draws_by_key = False

    def params(self, settings: Settings) -> dict[str, Any]:
        threads = {} if settings.n_jobs is None else {"num_threads": settings.n_jobs}
        trees = {name: getattr(settings, name) for name in ("learning_rate", "num_leaves", "min_child_samples", "seed")}
        return {**threads, **trees, **settings.params}

    def validate_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {**DETERMINISTIC, **canonical(params)}

    def bag_params(self, params: Mapping[str, Any], seed_gap: int) -> dict[str, Any]:
        own = canonical(params)
        if own.get("linear_tree"):
            raise SurefootError("linear trees are not averaged; leave out linear_tree, or set n_bags to 1")
        seeds = {name: own[name] + seed_gap for name in ("seed", *SEEDS) if name in own}
        return {**BAGS, **own, **seeds}

    def average(self, texts: Sequence[str]) -> str:
        """All trees of all models over the same features, each leaf divided by the number of models."""
        if len(texts) == 1:
            return texts[0]
        head, *_ = texts[0].partition("Tree=0\n")
        head = "\n".join(line for line in head.splitlines() if not line.startswith("tree_sizes="))
        bodies = [text[text.index("Tree=0\n") : text.index("end of trees")] for text in texts]
        blocks = [block.partition("\n")[2] for body in bodies for block in body.split("Tree=")[1:]]
        scaled = [f"Tree={index}\n{_divided(block, len(texts))}" for index, block in enumerate(blocks)]
        tail = "end of trees\n\nfeature_importances:\n" + texts[0].partition("feature_importances:\n")[2]
        # LightGBM writes it again, with the sizes and importances of all trees.
        return str(lgb.Booster(model_str=f"{head}\n\n{''.join(scaled)}{tail}").model_to_string())

    def train(self, run: TrainingRun) -> str:
        params, history = run.params, run.history
        random = is_random(params)
        booster = _as_booster(run.inputs.init_model)
        before = 0 if booster is None else booster.num_trees()
        saved = run.resume(random)
        if history.iterations:
            booster = _first_trees(self.load(saved), before + history.trees)
        training, valid = _datasets(run)
        done = before + len(history.iterations)
        callbacks = [_OfOneTraining(callback, done, before + history.n_iterations) for callback in run.inputs.callbacks]
        while not history.finished:
            after = _AfterIteration(run, before, random)
            booster = lgb.train(
                {**params, **_seeds(params, len(history.iterations)), "objective": run.objective},
                training,
                num_boost_round=history.n_iterations,
                valid_sets=None if valid is None else [valid],
                valid_names=None if valid is None else ["valid"],
                feval=lambda scores, _: run.measure(scores),
                init_model=booster,
                callbacks=[*callbacks, after],
                keep_training_booster=True,
            )
            if not after.ended:
                break  # the user's callback did
            booster.eval_train(training.keep)
            if valid is not None:
                booster.eval_valid(valid.keep)
        return _complete(_first_trees(booster, before + history.best_trees).model_to_string())

    def load(self, text: str) -> Any:
        with quiet_failures():
            return lgb.Booster(model_str=text)

    def predict(self, booster: Any, features: Any) -> Any:
        return booster.predict(_rows(features))

    def importances(self, booster: Any, features: int) -> FloatArray:
        return np.asarray(booster.feature_importance("gain"), np.float64)


ENGINE = LightGBM()


def canonical(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by LightGBM's main names; those that would be ignored or can't be resumed are refused."""
    aliases = _ConfigAliases._get_all_param_aliases().items()
    first_names = {name: first for first, names in aliases for name in names}
    for key, value in params.items():
        name = first_names.get(key)
        if name is None:
            raise SurefootError(f"LightGBM has no parameter {key}")
        if name in OURS:
            raise SurefootError(f"LightGBM's {key} is {OURS[name]} here; give it by that name")
        if name == "bagging_by_query" and value:
            raise SurefootError("LightGBM ignores bagging_by_query under a custom objective; leave it out")
        if (name == "boosting" and value != "gbdt") or (name == "data_sample_strategy" and value != "bagging"):
            raise SurefootError(
                f"training with {key}={value} can't be interrupted, as checkpoints and early stopping do"
            )
        if name in COUPLED:
            raise SurefootError(f"LightGBM forgets the state of {key} when training is resumed; leave it out")
        if name in ("seed", *SEEDS) and not isinstance(value, int | np.integer):
            raise SurefootError(f"{key} must be a whole number; got {value!r}")
    return {first_names[key]: value for key, value in params.items()}


def is_random(params: Mapping[str, Any]) -> bool:
    """Whether LightGBM draws random numbers while it trains."""
    return any(params.get(name, without) != without for name, without in RANDOM.items())


def _seeds(params: Mapping[str, Any], done: int) -> dict[str, int]:
    """The user's seeds, increased by the number of iterations."""
    if not is_random(params):
        return {}
    return {name: params.get(name, params.get("seed", 0) + index) + done for index, name in enumerate(SEEDS)}


def _datasets(run: TrainingRun) -> tuple[Any, Any]:
    """The training set, and the validation set if there is one."""

    def dataset(data: RankingData, **more: Any) -> Any:
        return _ScoredDataset(
            _rows(data.features),
            data.labels,
            group=data.sizes,
            params=dict(run.params),
            feature_name=list(data.feature_names) if data.feature_names else "auto",
            categorical_feature=run.inputs.categorical_feature,
            free_raw_data=False,
            **more,
        )

    if "training" not in run.shared:
        training = run.shared["training"] = dataset(run.data)
        run.shared["valid"] = None if run.validation is None else dataset(run.validation.data, reference=training)
    for known in run.shared.values():
        if known is not None:
            known.scores = None  # another training begins
    return run.shared["training"], run.shared["valid"]


def _rows(features: Any) -> Any:
    """Features for LightGBM, which takes scipy's sparse matrices but not its sparse arrays."""
    if isinstance(features, np.ndarray):
        return features
    from scipy import sparse

    return sparse.csr_matrix(features)


def _as_booster(model: Any) -> Any:
    if model is None or isinstance(model, lgb.Booster):
        return model
    return lgb.Booster(model_file=str(model))


def _first_trees(booster: Any, trees: int) -> Any:
    """The first trees of a model, read back from text, so that writing and reading them again changes nothing."""
    return lgb.Booster(model_str=booster.model_to_string(num_iteration=trees))


def _complete(text: str) -> str:
    """The model with an objective, which converters of models require, and without the number of threads.

    The objective is regression: all converters know it, and a score is the sum of leaves. Some converters refuse
    lambdarank, and some look for the objective among the parameters.
    """
    names = "\nfeature_names="
    text = re.sub(r"\n\[num_threads: -?\d+\]\n", "\n[num_threads: 0]\n", text, count=1)
    text = text.replace("\n[objective: custom]\n", "\n[objective: regression]\n")
    return text if "\nobjective=" in text else text.replace(names, f"\nobjective=regression{names}", 1)


class _ScoredDataset(lgb.Dataset):
    """A data set that keeps the raw scores of its rows, so that training continues from them.

    LightGBM would predict them again with all trees so far, which takes quadratic time. The numbers are the same: both
    add the leaves of the trees one by one, in the order of the trees.
    """

    scores: Any = None

    def construct(self) -> lgb.Dataset:
        """Copy the features; this is where LightGBM checks all parameters."""
        with quiet_failures():
            return super().construct()

    def keep(self, scores: Any, dataset: Any) -> list[Any]:
        """Take the scores, as a measure of the booster that was trained with this set."""
        self.scores = scores.copy()
        return []

    def _set_init_score_by_predictor(self, predictor: Any, data: Any, used_indices: Any) -> lgb.Dataset:
        if predictor is None or self.scores is None:
            return super()._set_init_score_by_predictor(predictor, data, used_indices)
        return self.set_init_score(self.scores)


class _OfOneTraining:
    """A callback of the user, which sees one training although reseeding the RNG starts several."""

    def __init__(self, callback: Callable[[Any], None], begin: int, end: int) -> None:
        self.callback, self.begin, self.end = callback, begin, end
        self.__dict__.update(
            {key: getattr(callback, key) for key in ("order", "before_iteration") if hasattr(callback, key)}
        )

    def __call__(self, env: Any) -> None:
        changed = env._replace if hasattr(env, "_replace") else partial(replace, env)  # a tuple up to LightGBM 4.6
        self.callback(changed(begin_iteration=self.begin, end_iteration=self.end))


class _AfterIteration:
    """Records each iteration, and ends `lgb.train` when training is over or the RNG is to be reseeded."""

    def __init__(self, run: TrainingRun, before: int, random: bool) -> None:
        self.run, self.before, self.random, self.ended = run, before, random, False
        self.order = 100  # after the user's callbacks; LightGBM reads it from the instance only

    def __call__(self, env: Any) -> None:
        run, model = self.run, env.model
        over = run.after_iteration(
            model.num_trees() - self.before,
            lambda trees: model.model_to_string(num_iteration=self.before + trees),
        )
        self.ended = over or (self.random and len(run.history.iterations) % RESEED_EVERY == 0)
        if self.ended:
            raise lgb.callback.EarlyStopException(env.iteration, [])


def _divided(block: str, by: int) -> str:
    lines = block.splitlines()
    for index, line in enumerate(lines):
        key, _, values = line.partition("=")
        if key in ("leaf_value", "internal_value", "shrinkage"):
            lines[index] = f"{key}={' '.join(repr(float(value) / by) for value in values.split(' ') if value)}"
    return "\n".join(lines) + "\n"

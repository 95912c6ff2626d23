"""Boosting by LightGBM: the objective's gradients in, a plain LightGBM model out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import byref, c_int
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import STRETCH
from surefoot.learn.lesson import Lesson
from surefoot.learn.validation import HIGHER, Judge

STEADY = {"deterministic": True, "force_col_wise": True, "feature_pre_filter": False, "verbosity": -1}
"""The same model whatever the number of threads, and one also of data too small to split."""

OURS = {
    "objective": "objective", "metric": "metric", "lambdarank_truncation_level": "truncation",
    "lambdarank_norm": "norm", "sigmoid": "sigmoid", "label_gain": "label_gain", "eval_at": "cutoff",
    "num_iterations": "n_estimators", "early_stopping_round": "early_stopping_rounds",
    "categorical_feature": "categorical_feature",
}  # fmt: skip
"""Parameters of LightGBM that have a name here, so that they can't be said twice."""

COUPLED = ("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled")
DRAWS = {
    "bagging_freq": 0, "feature_fraction": 1, "feature_fraction_bynode": 1, "extra_trees": False,
    "use_quantized_grad": False,
}  # fmt: skip
"""Parameters under which LightGBM draws random numbers, unless they have this value."""

SEEDS = ("bagging_seed", "feature_fraction_seed", "extra_seed")


def train(
    lesson: Lesson,
    params: Mapping[str, Any],
    init_model: Any = None,
    callbacks: Sequence[Callable[[Any], None]] = (),
    categorical: Any = "auto",
) -> str:
    """Train, and return the model's text, all trees up to the best iteration."""
    import lightgbm as lgb

    settings = checked(params)
    random = is_random(settings)
    watch = lesson.watch
    booster = _as_booster(init_model)
    before = 0 if booster is None else booster.num_trees()
    kept = lesson.resumed(random)
    if watch.history:
        booster = _cut(loaded(str(kept)), before + watch.trees)
    training, valid = _datasets(lesson, settings, categorical)
    theirs = [_OfOneTraining(callback, before + len(watch.history), before + watch.rounds) for callback in callbacks]
    while not watch.finished:
        after = _After(lesson, before, random)
        booster = lgb.train(
            {**settings, **_seeds(settings, len(watch.history)), "objective": lesson.objective},
            training,
            num_boost_round=watch.rounds,
            valid_sets=None if valid is None else [valid],
            valid_names=None if valid is None else ["valid"],
            feval=None if lesson.judge is None else _Feval(lesson.judge),
            init_model=booster,
            callbacks=[*theirs, after],
            keep_training_booster=True,
        )
        if not after.ended:
            break  # a callback of the user's did
    return str(_cut(booster, before + watch.best_trees).model_to_string())


@contextmanager
def side_by_side(threads: int) -> Iterator[None]:
    """Where several trainings run in one process: as many threads for each of them, in every call.

    LightGBM keeps the number of threads for the whole process, and sizes buffers by it. A call that changes it while
    another training fills such a buffer makes that one write past the end.
    """
    from lightgbm.basic import _LIB  # type: ignore[attr-defined]

    before = c_int()
    _LIB.LGBM_GetMaxThreads(byref(before))
    _LIB.LGBM_SetMaxThreads(c_int(threads))
    try:
        yield
    finally:
        _LIB.LGBM_SetMaxThreads(before)


def loaded(text: str) -> Any:
    """A model from its text."""
    import lightgbm as lgb

    return lgb.Booster(model_str=text)


def predict(booster: Any, features: Any) -> Any:
    """The score of each row."""
    return booster.predict(_rows(features))


def failure() -> type[Exception]:
    """What LightGBM raises."""
    from lightgbm.basic import LightGBMError

    return LightGBMError


def checked(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters for LightGBM by its first names for them, without those said twice or silently ignored."""
    names = _first_names()
    for key, value in params.items():
        name = names.get(key)
        if name is None:
            raise SurefootError(f"LightGBM has no parameter {key}")
        if name in OURS:
            raise SurefootError(f"LightGBM's {key} is {OURS[name]} here; give it by that name")
        if name == "bagging_by_query" and value:
            raise SurefootError("LightGBM ignores bagging_by_query under an objective of one's own; leave it out")
        if (name == "boosting" and value != "gbdt") or (name == "data_sample_strategy" and value != "bagging"):
            raise SurefootError(f"training with {key}={value} can't be cut, as checkpoints and early stopping do")
        if name in COUPLED:
            raise SurefootError(f"LightGBM forgets what {key} has to know when training goes on; leave it out")
        if name in ("seed", *SEEDS) and not isinstance(value, int | np.integer):
            raise SurefootError(f"{key} must be a whole number; got {value!r}")
    return {**STEADY, **{names[key]: value for key, value in params.items()}}


def _first_names() -> dict[str, str]:
    """The first of LightGBM's names of a parameter, by any of them."""
    from lightgbm.basic import _ConfigAliases

    return {name: first for first, names in _ConfigAliases._get_all_param_aliases().items() for name in names}


def is_random(params: Mapping[str, Any]) -> bool:
    """Whether LightGBM draws random numbers while it trains."""
    return any(params.get(name, without) != without for name, without in DRAWS.items())


def _seeds(params: Mapping[str, Any], done: int) -> dict[str, int]:
    """Seeds of a stretch of iterations: the user's, moved on."""
    if not is_random(params):
        return {}
    return {name: params.get(name, params.get("seed", 0) + place) + done for place, name in enumerate(SEEDS)}


def _datasets(lesson: Lesson, settings: Mapping[str, Any], categorical: Any) -> tuple[Any, Any]:
    import lightgbm as lgb

    def dataset(data: RankingData, **more: Any) -> Any:
        return lgb.Dataset(
            _rows(data.features),
            data.labels,
            group=data.sizes,
            params=dict(settings),
            feature_name=list(data.feature_names) if data.feature_names else "auto",
            categorical_feature=categorical,
            free_raw_data=False,
            **more,
        )

    training = dataset(lesson.data)
    return training, None if lesson.judge is None else dataset(lesson.judge.data, reference=training)


def _rows(features: Any) -> Any:
    """Features as LightGBM takes them: it knows sparse matrices, but not scipy's arrays."""
    if isinstance(features, np.ndarray):
        return features
    from scipy import sparse

    return sparse.csr_matrix(features)


def _as_booster(model: Any) -> Any:
    import lightgbm as lgb

    if model is None or isinstance(model, lgb.Booster):
        return model
    return lgb.Booster(model_file=str(model))


def _cut(booster: Any, trees: int) -> Any:
    """The first trees of a model, read back from text: writing them again changes nothing any more."""
    import lightgbm as lgb

    return lgb.Booster(model_str=booster.model_to_string(num_iteration=trees))


class _Feval:
    """The judge as LightGBM calls it."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def __call__(self, scores: Any, dataset: Any) -> list[tuple[str, float, bool]]:
        return [(name, value, HIGHER[name]) for name, value in self.judge(scores).items()]


class _OfOneTraining:
    """A callback of the user's. It is told where the training begins and ends, not where a stretch of it does."""

    def __init__(self, callback: Callable[[Any], None], begin: int, end: int) -> None:
        self.callback, self.begin, self.end = callback, begin, end
        self.__dict__.update(
            {key: getattr(callback, key) for key in ("order", "before_iteration") if hasattr(callback, key)}
        )

    def __call__(self, env: Any) -> None:
        changed = env._replace if hasattr(env, "_replace") else partial(replace, env)  # a tuple up to LightGBM 4.6
        self.callback(changed(begin_iteration=self.begin, end_iteration=self.end))


class _After:
    """After each iteration: note what it brought, keep a checkpoint, end the stretch or the training."""

    def __init__(self, lesson: Lesson, before: int, random: bool) -> None:
        self.lesson, self.before, self.random, self.ended = lesson, before, random, False
        self.order = 100  # after the user's callbacks; LightGBM looks for it in the instance alone

    def __call__(self, env: Any) -> None:
        from lightgbm.callback import EarlyStopException

        lesson, model = self.lesson, env.model
        found = {name: value for place, name, value, *_ in env.evaluation_result_list or () if place == "valid"}
        over = lesson.watch.after(found or lesson.training_figures(), model.num_trees() - self.before)
        lesson.keep(lambda trees: model.model_to_string(num_iteration=self.before + trees))
        self.ended = over or (self.random and len(lesson.watch.history) % STRETCH == 0)
        if self.ended:
            raise EarlyStopException(env.iteration, [])

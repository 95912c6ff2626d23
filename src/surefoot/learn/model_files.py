"""Models in files: those of `train`, and plain files of LightGBM or XGBoost.

LightGBM and XGBoost trust the text that they load: a wrong one can crash the process. So `validate_text` first checks
everything that they use without a check: numbers, their counts, features that exist, and children that form a tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, listed
from surefoot.io.files import parse_json
from surefoot.learn.data import RankingData
from surefoot.learn.joining import widened
from surefoot.learn.settings import engine_of
from surefoot.scores import FloatArray

END = "end of trees"
INTEGERS = ("split_feature", "decision_type", "left_child", "right_child")
NODES = (*INTEGERS, "split_gain", "threshold", "internal_value", "internal_weight", "internal_count")
LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
XGBOOST_NODES = ("left_children", "right_children", "parents", "split_indices", "split_conditions", "split_type",
                 "default_left", "base_weights", "loss_changes", "sum_hessian")  # fmt: skip

ROOT = (1 << 31) - 1
"""The parent of a root in XGBoost."""
PARAMETER = re.compile(r"\[\w+: [^\[\]]*\]|\[\w+: \[.*\]\]")

DEFAULT_NAME = re.compile(r"(Column_|f)?\d+")
"""Names that the engines give to the features of a matrix."""

Ints = npt.NDArray[np.int64]


def read_model(name: str) -> Any:
    """The model of a folder that `train` wrote, or the Booster of a file that LightGBM or XGBoost wrote.

    LightGBM's files begin with "tree", XGBoost's are JSON. XGBoost's binary form is refused: it can't be validated, and
    a damaged file crashes the process.
    """
    from surefoot.learn.models import load_model

    path = Path(name)
    if not path.is_file():
        return load_model(name)
    with path.open("rb") as file:
        head = file.read(5)
    kind = "lightgbm" if head[:4] == b"tree" else "xgboost" if head[:1] == b"{" else None
    if kind is None:
        raise InputError(path, "is not a model of LightGBM (text) or XGBoost (.json)")
    if kind == "xgboost" and head[1:2] not in b'" \t\r\n}':
        raise InputError(path, "is XGBoost's binary form; save it as JSON: booster.save_model('model.json')")
    engine = engine_of(kind)
    try:
        text = path.read_text("utf-8", errors="replace")
        validate_text(kind, text, path)
        return engine.load(text)
    except (engine.error, ValueError):
        raise InputError(path, f"begins like a model of {kind} but is not one, or is damaged") from None


def model_scores(model: Any, data: RankingData) -> FloatArray:
    """The score that a model gives to each document."""
    name = type(model).__module__.partition(".")[0]
    if type(model).__name__ == "Booster" and name in ("lightgbm", "xgboost"):
        scores = engine_of(name).predict(model, _features(model, name, data))
    elif hasattr(model, "card"):  # own models check the features themselves
        scores = model.predict(data)
    else:
        scores = model.predict(data.features)
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != data.labels.shape or not np.isfinite(found).all():
        raise SurefootError(f"a baseline model must give each document one finite score; got an array {found.shape}")
    return found


def _features(booster: Any, engine: str, data: RankingData) -> Any:
    """The data's features as a Booster takes them: missing trailing features are 0, as in LETOR files."""
    lightgbm = engine == "lightgbm"
    width = booster.num_feature() if lightgbm else booster.num_features()
    names = list((booster.feature_name() if lightgbm else booster.feature_names) or ())
    named = bool(names) and not all(DEFAULT_NAME.fullmatch(name) for name in names)
    if named and data.feature_names and names != list(data.feature_names):
        raise SurefootError(
            f"the baseline model knows the features {listed(names)}, in this order; got {listed(data.feature_names)}"
        )
    if data.features.shape[1] > width:
        raise SurefootError(
            f"{data.source}: {data.features.shape[1]} features, but the baseline model was trained on {width}"
        )
    return widened(data, data.first_feature, width).features


def validate_text(engine: str, text: str, path: PathLike) -> None:
    """Refuse a text that would crash its engine.

    Parameters
    ----------
    engine
        ``"lightgbm"`` (text) or ``"xgboost"`` (JSON); models of others are read without them.
    text
        The model.
    path
        The file's name, for the error.
    """
    validate = {"lightgbm": _validate_lightgbm, "xgboost": _validate_xgboost}.get(engine)
    if validate is None:
        return
    try:
        validate(text)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        raise InputError(path, f"begins like a model of {engine} but is not one, or is damaged") from None


def _require(holds: object) -> None:
    if not holds:
        raise ValueError


def _validate_lightgbm(text: str) -> None:
    begin, end = text.find("\nTree=0\n"), text.find(f"{END}\n")
    begin += begin >= 0
    trees = text[begin:end]
    _require(text.startswith("tree\n") and end >= 0 and trees.isascii())  # sizes count bytes
    _require(begin < 0 or trees.replace("\n", "").isprintable())  # other white space separates no numbers there
    header = _fields(text[: begin if begin >= 0 else end])
    features = int(header["max_feature_idx"]) + 1
    _require("Tree" not in header)
    _require(int(header["num_class"]) == int(header["num_tree_per_iteration"]) == 1)
    _require(0 < features == len(header["feature_names"].split()) == len(header["feature_infos"].split()))
    start = begin
    for number, size in enumerate(_whole_numbers(header.get("tree_sizes", "")).tolist()):
        tree = text[start : start + size]
        _require(tree.startswith(f"Tree={number}\n") and start + size <= end)
        _validate_tree(_fields(tree), features)
        start += size
    _require(begin < 0 or start == end)
    _validate_parameters(text[end:])


def _validate_parameters(text: str) -> None:
    """The training parameters at the end of the text, if any: one ``[name: value]`` on each line."""
    _, begins, rest = text.partition("\nparameters:\n")
    inside, ends, _ = rest.partition("\nend of parameters\n")
    _require(bool(begins) == bool(ends) and text.count("parameters") == 2 * bool(begins))
    _require(all(PARAMETER.fullmatch(line) for line in inside.split("\n") if line))


def _fields(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        _require(name not in fields or not name)
        if equals:
            fields[name] = value
    return fields


def _whole_numbers(value: str) -> Ints:
    return np.array(value.split(), dtype=np.int64)


def _validate_tree(fields: Mapping[str, str], features: int) -> None:
    leaves, categorical = int(fields["num_leaves"]), int(fields["num_cat"])
    _require(leaves > 0 <= categorical and len(fields["leaf_value"].split()) == leaves)
    float(fields["shrinkage"])
    for names, count in ((NODES, leaves - 1), (LEAVES, leaves)):
        for name in names:
            numbers = np.array(fields.get(name, "").split(), dtype=np.float64)
            _require(numbers.size == count or (leaves == 1 and numbers.size == 0))
    feature, kind, left, right = (_whole_numbers(fields[name]) for name in INTEGERS)
    _require(np.all((feature >= 0) & (feature < features)) and np.all((kind >= 0) & (kind < 16)))
    _validate_children(np.stack([left, right]), leaves)
    _require(bool(categorical) == bool(np.any(kind & 1)))
    if categorical:
        _validate_categories(fields, categorical, kind)
    if int(fields.get("is_linear", "0")):
        _validate_linear(fields, leaves, features)


def _validate_children(children: Ints, leaves: int) -> None:
    """Each inner node but the first, and each leaf (~child), is the child of one earlier node."""
    nodes = np.arange(children.shape[1])
    inner = children >= 0
    _require(np.all(children[inner] > np.broadcast_to(nodes, children.shape)[inner]))
    if nodes.size:
        _require(np.array_equal(np.sort(children, axis=None), [*range(-leaves, 0), *range(1, leaves - 1)]))


def _validate_categories(fields: Mapping[str, str], number: int, kind: Ints) -> None:
    bounds, sets = _whole_numbers(fields["cat_boundaries"]), _whole_numbers(fields["cat_threshold"])
    _require(bounds.size == number + 1 and bounds[0] == 0 and bounds[-1] == sets.size)
    _require(np.all(np.diff(bounds) >= 0) and np.all((sets >= 0) & (sets < 1 << 32)))
    chosen = np.array(fields["threshold"].split(), dtype=np.float64)[kind & 1 == 1]
    _require(np.all((chosen >= 0) & (chosen < number)))


def _validate_linear(fields: Mapping[str, str], leaves: int, features: int) -> None:
    counts, used = _whole_numbers(fields["num_features"]), _whole_numbers(fields["leaf_features"])
    _require(counts.size == leaves == len(fields["leaf_const"].split()) and np.all(counts >= 0))
    _require(counts.sum() == used.size == len(fields["leaf_coeff"].split()))
    _require(np.all((used >= 0) & (used < features)))
    np.array(f"{fields['leaf_const']} {fields['leaf_coeff']}".split(), dtype=np.float64)


def _validate_xgboost(text: str) -> None:
    learner = parse_json(text)["learner"]
    booster = learner["gradient_booster"]
    model = booster["gbtree"]["model"] if "gbtree" in booster else booster["model"]
    shape = learner["learner_model_param"]
    features, trees = int(shape["num_feature"]), model["trees"]
    _require(int(shape.get("num_class", 0)) <= 1 == int(shape.get("num_target", 1)))
    _require(len(trees) == int(model["gbtree_model_param"]["num_trees"]) == len(model["tree_info"]))
    _require(all(group == 0 for group in model["tree_info"]))
    iterations = model.get("iteration_indptr", [0, len(trees)])
    _require(iterations[0] == 0 and iterations[-1] == len(trees) and all(a <= b for a, b in pairwise(iterations)))
    for number, tree in enumerate(trees):
        _require(tree["id"] == number)
        _validate_xgboost_tree(tree, features)


def _validate_xgboost_tree(tree: Mapping[str, Any], features: int) -> None:
    nodes = int(tree["tree_param"]["num_nodes"])
    _require(nodes > 0 and int(tree["tree_param"]["num_deleted"]) == 0)
    _require(int(tree["tree_param"].get("size_leaf_vector", 0)) in (0, 1))  # the number of values of a leaf
    arrays = {name: np.array(tree[name], dtype=np.float64) for name in XGBOOST_NODES}
    _require(all(array.shape == (nodes,) for array in arrays.values()))
    left, right = (np.array(tree[name], dtype=np.int64) for name in XGBOOST_NODES[:2])
    split = np.array(tree["split_indices"], dtype=np.int64)
    _require(np.array_equal(left == -1, right == -1) and np.all((split >= 0) & (split < max(features, 1))))
    inner = np.flatnonzero(left != -1)
    children = np.concatenate([left[inner], right[inner]])
    _require(np.array_equal(np.sort(children), np.arange(1, nodes)) and np.all(children > np.tile(inner, 2)))
    _require(arrays["parents"][0] == ROOT and np.array_equal(arrays["parents"][children], np.tile(inner, 2)))
    sets = [len(tree[f"categories{ending}"]) for ending in ("_nodes", "_segments", "_sizes")]
    _require(sets[0] == sets[1] == sets[2] == int(np.sum(arrays["split_type"] == 1)))
    for start, size in zip(tree["categories_segments"], tree["categories_sizes"], strict=True):
        _require(0 <= start <= start + size <= len(tree["categories"]))
    _require(all(0 <= node < nodes for node in tree["categories_nodes"]))

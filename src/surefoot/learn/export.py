"""Export of trained models: one JSON file with trees and guard, or the trees for Treelite and ONNX."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surefoot._lazy import optional
from surefoot.errors import SurefootError, choose
from surefoot.guard.second_stage import tree_arrays, tree_blocks
from surefoot.io.atomic import write_bytes
from surefoot.learn.models import Model

FORMAT = "surefoot model 1"
CATEGORICAL, DEFAULT_LEFT, NAN_MISSING, ZERO_MISSING = 1, 2, 8, 4
"""Bits of LightGBM's decision_type."""

Tree = dict[str, Sequence[Any]]
"""At node i go to ``left[i]`` if the feature is at most the threshold, or is missing and ``missing_left[i]``, else to
``right[i]``; node 0 is the root, a child below 0 is leaf -child - 1."""


def export_model(model: Model, path: str | os.PathLike[str], to: str = "json") -> list[Path]:
    """Write a model for another service.

    Parameters
    ----------
    model : Model
        A model of trees.
    path : path
        The file to write.
    to : {"json", "treelite", "onnx"}
        "json" is complete. The others hold only the trees, whose scores are the candidate's; the guard of a guarded
        model is written beside them.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from surefoot.learn import RankingData, Settings, train
    >>> data = RankingData.of([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> model = train(data, settings=Settings("lambdamart", n_estimators=2, min_child_samples=1)).model
    >>> with TemporaryDirectory() as folder:
    ...     (file,) = export_model(model, Path(folder) / "model.json")
    ...     sorted(json.loads(file.read_text()))
    ['base_score', 'baseline', 'features', 'first_feature', 'format', 'guard', 'names', 'trees']
    """
    target = Path(path)
    choose(to, EXPORTS, "to")
    if model.engine not in ("lightgbm", "xgboost"):
        raise SurefootError(f"only models of trees are exported; this one is {model.engine}, and is plain JSON already")
    write_bytes(target, EXPORTS[to](model))
    if model.guard is None or to == "json":
        return [target]
    guard = target.with_name(f"{target.name}.guard.json")
    model.guard.save(guard)
    return [target, guard]


def to_json(model: Model) -> dict[str, Any]:
    """The whole model as plain values: docs/research/guard-file.md has the code that ranks by it."""
    data, kept = model.card["data"], model.card.get("guard")
    trees = lightgbm_trees(model.text) if model.engine == "lightgbm" else xgboost_trees(json.loads(model.text))
    return {
        "format": FORMAT,
        "features": data["features"],
        "first_feature": data["first_feature"],
        "names": data["feature_names"],
        "base_score": 0.0 if model.engine == "lightgbm" else _base_score(json.loads(model.text)),
        "trees": list(trees),
        "guard": None if model.guard is None else model.guard.to_json(),
        "baseline": None if model.guard is None or kept is None else {key: kept[key] for key in ("form", "column")},
    }


def lightgbm_trees(text: str) -> Iterator[Tree]:
    """The trees of a LightGBM model's text."""
    for fields in tree_blocks(text):
        arrays = tree_arrays(fields)
        kinds = [int(value) for value in fields.get("decision_type", "").split()]
        if any(kind & (CATEGORICAL | ZERO_MISSING) for kind in kinds) or int(fields.get("is_linear", 0)):
            raise SurefootError("trees with categorical or linear parts, or with 0 as missing, are not exported")
        # If LightGBM saw no missing value in training, it takes one as 0.
        missing_left = [
            bool(kind & DEFAULT_LEFT) if kind & NAN_MISSING else limit >= 0
            for kind, limit in zip(kinds, arrays["threshold"], strict=True)
        ]
        yield {**arrays, "missing_left": missing_left}


def xgboost_trees(model: Mapping[str, Any]) -> Iterator[Tree]:
    """The trees of an XGBoost model; it goes left below the threshold, in float32, so thresholds are one step lower."""
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        if any(tree["split_type"]):
            raise SurefootError("trees with categorical splits are not exported")
        nodes = [node for node, left in enumerate(tree["left_children"]) if left >= 0]
        leaves = [node for node, left in enumerate(tree["left_children"]) if left < 0]
        number = {node: index for index, node in enumerate(nodes)}
        number |= {node: -index - 1 for index, node in enumerate(leaves)}
        below = np.nextafter(np.array(tree["split_conditions"], np.float32), np.float32(-math.inf))
        yield {
            "feature": [tree["split_indices"][node] for node in nodes],
            "threshold": [float(below[node]) for node in nodes],
            "left": [number[tree["left_children"][node]] for node in nodes],
            "right": [number[tree["right_children"][node]] for node in nodes],
            "missing_left": [bool(tree["default_left"][node]) for node in nodes],
            "value": [tree["split_conditions"][node] for node in leaves],
        }


def _base_score(model: Mapping[str, Any]) -> float:
    return float(str(model["learner"]["learner_model_param"]["base_score"]).strip("[]"))


def _to_treelite(model: Model) -> bytes:
    """A checkpoint of Treelite, which Triton's FIL backend and tl2cgen read."""
    frontend = optional("treelite").frontend
    read = frontend.from_lightgbm if model.engine == "lightgbm" else frontend.from_xgboost
    return bytes(read(model.booster).serialize_bytes())


def _to_onnx(model: Model) -> bytes:
    """An ONNX model with one input, the features, and one output, the scores of the trees, both float32."""
    onnxmltools = optional("onnxmltools")
    convert = onnxmltools.convert_lightgbm if model.engine == "lightgbm" else onnxmltools.convert_xgboost
    types = optional("onnxmltools.convert.common.data_types")
    shape = types.FloatTensorType([None, model.card["data"]["features"]])
    return bytes(convert(model.booster, initial_types=[("features", shape)]).SerializeToString())


def _to_json(model: Model) -> bytes:
    return (json.dumps(to_json(model), allow_nan=False) + "\n").encode()


EXPORTS: dict[str, Callable[[Model], bytes]] = {"json": _to_json, "treelite": _to_treelite, "onnx": _to_onnx}
"""The formats by name."""

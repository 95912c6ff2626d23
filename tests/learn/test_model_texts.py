"""A model's text is validated before its engine sees it: engines die of texts that lie."""

import json
import re

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.io.atomic import digest_of
from surefoot.learn import load_model, train
from surefoot.learn.model_files import validate_text
from tests.learn.small_rankings import BASELINE, TRAINING, settings

LIES = [
    ("num_leaves=4", "num_leaves=400"),
    ("split_feature=", "split_feature=9"),
    ("left_child=", "left_child=0 "),
    ("leaf_value=", "leaf_value=x"),
    ("threshold=", "threshold=1 2 "),
    ("tree_sizes=", "tree_sizes=9"),
    ("end of trees", "end of the trees"),
    ("\nTree=0", "*Tree=0"),
    ("num_class=1", "Tree=0\nnum_class=1"),
    ("max_feature_idx=", "max_feature_idx=9"),
    ("[learning_rate: ", "[learning_rate"),
    ("end of parameters", "end"),
]


@pytest.fixture(scope="module")
def texts():
    chosen = {"n_estimators": 3, "num_leaves": 4, "min_child_samples": 1}
    models = {
        name: train(TRAINING, BASELINE, settings(engine=name, **chosen)).model for name in ("lightgbm", "xgboost")
    }
    models["bags"] = train(TRAINING, BASELINE, settings(n_bags=2, **chosen)).model
    return {name: model.text for name, model in models.items()}


def test_models_of_both_engines_are_valid(texts):
    for name, text in texts.items():
        validate_text("lightgbm" if name == "bags" else name, text, "model")


@pytest.mark.parametrize("kind", [{"linear_tree": True}, {"max_cat_to_onehot": 1}])
def test_linear_and_categorical_trees_are_valid(kind):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=300), rng.integers(0, 9, 300)])
    y = x[:, 0] + (x[:, 1] % 2)
    categorical = [] if "linear_tree" in kind else [1]
    data = lightgbm.Dataset(x, y, categorical_feature=categorical, params={**kind, "verbose": -1})
    params = {"verbose": -1, "num_leaves": 5, "num_threads": 1, **kind}
    validate_text("lightgbm", lightgbm.train(params, data, 3).model_to_string(), "model")


@pytest.mark.parametrize(("found", "lie"), LIES)
def test_a_text_that_lies_is_refused(texts, found, lie):
    text = texts["lightgbm"].replace(found, lie, 1)
    assert text != texts["lightgbm"]
    with pytest.raises(InputError, match=r"m\.txt: begins like a model of lightgbm but is not one, or is damaged"):
        validate_text("lightgbm", text, "m.txt")


def test_white_space_that_is_no_blank_is_refused(texts):
    text = re.sub(r"(internal_value=\S*)\d ", "\\1\f ", texts["lightgbm"], count=1)
    assert text != texts["lightgbm"]
    with pytest.raises(InputError, match="a model of lightgbm but is not one"):
        validate_text("lightgbm", text, "m.txt")


def test_leaves_of_many_numbers_are_refused(texts):
    text = re.sub('"size_leaf_vector": ?"1"', '"size_leaf_vector":"3647,1"', texts["xgboost"])
    assert text != texts["xgboost"]
    with pytest.raises(InputError, match="a model of xgboost but is not one"):
        validate_text("xgboost", text, "m.json")


@pytest.mark.parametrize("name", ["left_children", "parents", "split_indices", "split_conditions", "id"])
def test_a_json_that_lies_is_refused(texts, name):
    def lie(own):
        return 7 if isinstance(own, int) else [2_000_000, *own[1:]] if name != "split_conditions" else own[1:]

    content = json.loads(texts["xgboost"])
    tree = content["learner"]["gradient_booster"]["model"]["trees"][0]
    tree[name] = lie(tree[name])
    with pytest.raises(InputError, match="a model of xgboost but is not one"):
        validate_text("xgboost", json.dumps(content), "m.json")


def test_a_recomputed_digest_does_not_help(tmp_path):
    train(TRAINING, BASELINE, settings(n_estimators=2), output=tmp_path)
    path, card = tmp_path / "model.txt", json.loads((tmp_path / "card.json").read_text())
    text = re.sub(r"left_child=\S+", "left_child=2147483647", path.read_text(), count=1)
    path.write_text(text)
    card["model"]["blake2b"] = digest_of(text)
    (tmp_path / "card.json").write_text(json.dumps(card))
    with pytest.raises(InputError, match=r"model\.txt: begins like a model of lightgbm but is not one, or is damaged"):
        load_model(tmp_path)

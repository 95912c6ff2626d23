"""Folders of trained models: plain files of their engine, a card, and nothing that runs."""

import json
import pickle
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
import xgboost

from surefoot import __version__
from surefoot.errors import InputError, SurefootError
from surefoot.learn.baseline import baselines_of
from surefoot.learn.models import load_model
from surefoot.learn.training import train
from tests.learn.small_rankings import BASELINE, LEAVES, TRAINING, VALIDATION, XGB, ranking_data, settings


@pytest.fixture(scope="module")
def models():
    """A model of each engine."""
    chosen = {"lightgbm": LEAVES, "xgboost": XGB}
    return {
        engine: train(
            TRAINING, BASELINE, settings(**trees, n_estimators=8, objective="saro", objective_options={"spread": "se"}),
            valid=VALIDATION,
        ).model
        for engine, trees in chosen.items()
    }  # fmt: skip


@pytest.fixture
def folder(models, tmp_path):
    models["lightgbm"].save(tmp_path)
    return tmp_path


def changed(folder, change):
    path = folder / "card.json"
    card = json.loads(path.read_text())
    change(card)
    path.write_text(json.dumps(card))


def test_lightgbm_alone_loads_the_model(models, folder):
    assert sorted(path.name for path in folder.iterdir()) == ["card.json", "model.txt"]
    alone = lgb.Booster(model_file=folder / "model.txt").predict(VALIDATION.features)
    assert np.array_equal(alone, models["lightgbm"].predict(VALIDATION))
    assert np.array_equal(alone, load_model(folder).predict(VALIDATION))


def test_xgboost_alone_loads_the_model(models, tmp_path):
    models["xgboost"].save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["card.json", "model.json"]
    alone = xgboost.Booster(model_file=tmp_path / "model.json").predict(xgboost.DMatrix(VALIDATION.features))
    assert np.array_equal(alone, models["xgboost"].predict(VALIDATION))
    assert np.array_equal(alone, load_model(tmp_path).predict(VALIDATION))


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
def test_the_card_tells_what_was_trained(engine, models, tmp_path):
    models[engine].save(tmp_path)
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["surefoot"] == __version__
    assert card["engine"] == {"name": engine, "version": {"lightgbm": lgb, "xgboost": xgboost}[engine].__version__}
    chosen = card["settings"]
    assert (chosen["objective"], chosen["alpha"], chosen["objective_options"]) == ("saro", 1.0, {"spread": "se"})
    assert (card["baselines"], card["metric"], card["stopped_on"]) == ([BASELINE], "nDCG(dcg='exp-log2')@10", "trisk")
    assert chosen["truncation"] == 30
    trees = LEAVES if engine == "lightgbm" else XGB
    assert {key: chosen[key] for key in trees} == trees
    assert chosen["params"] == {}
    assert card["data"] == {
        "source": "data", "fingerprint": TRAINING.fingerprint, "queries": 25, "documents": 300, "features": 5,
        "first_feature": 0, "feature_names": None,
    }  # fmt: skip
    booster = load_model(tmp_path).booster
    assert card["trees"] == (booster.num_trees() if engine == "lightgbm" else booster.num_boosted_rounds())
    figures = "mean urisk trisk georisk tail frisk freward losses loss20".split()
    assert list(card["validation"]) == figures


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_loading_unpickles_nothing(folder):
    sprung = folder / "sprung"
    trap = pickle.dumps(Trap(sprung))
    pickle.loads(trap)
    assert sprung.exists()
    sprung.unlink()
    for name in ("model.pkl", "card.pkl", "model.joblib", "checkpoint.json"):
        (folder / name).write_bytes(trap)
    load_model(folder).predict(VALIDATION)
    for name in ("model.txt", "card.json"):
        (folder / name).write_bytes(trap)
        with pytest.raises(InputError):
            load_model(folder)
    assert not sprung.exists()


def test_a_new_model_takes_the_place_of_the_old_one(models, folder):
    models["xgboost"].save(folder)
    assert np.array_equal(load_model(folder).predict(VALIDATION), models["xgboost"].predict(VALIDATION))


def test_a_folder_has_a_card_only_when_it_is_complete(models, folder, monkeypatch):
    def full(path, text):
        raise SurefootError(f"{path}: can't be written: No space left on device")

    monkeypatch.setattr("surefoot.learn.models.write_text", full)
    with pytest.raises(SurefootError, match="No space left"):
        models["lightgbm"].save(folder)
    with pytest.raises(InputError, match=r"no card\.json in it"):
        load_model(folder)


def test_a_model_is_a_baseline(models, folder):
    found = baselines_of(f"model:{folder}", VALIDATION)
    assert np.array_equal(found.scores[0], models["lightgbm"].predict(VALIDATION))
    assert found.names == (folder.name,)


def test_features_must_be_those_of_the_training(models):
    for model in models.values():
        with pytest.raises(SurefootError, match="the model was trained on 5 features; got 4"):
            model.predict(VALIDATION.features[:, :4])
        with pytest.raises(SurefootError, match="features must be a matrix"):
            model.predict(VALIDATION.features[0])
    from dataclasses import replace

    with pytest.raises(SurefootError, match="features are numbered from 1, in training from 0"):
        models["lightgbm"].predict(replace(VALIDATION, first_feature=1))


def test_what_is_no_model_is_told(folder):
    with pytest.raises(InputError, match=r"nowhere: is not a folder of a trained model: no card\.json in it"):
        load_model(folder / "nowhere")
    with pytest.raises(InputError, match=r"is not a folder of a trained model: no card\.json in it"):
        load_model(folder / "model.txt")
    (folder / "model.txt").unlink()
    with pytest.raises(InputError, match=r"is not a folder of a trained model: no model\.txt in it"):
        load_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card.clear(),
        lambda card: card.pop("data"),
        lambda card: card.pop("model"),
        lambda card: card["data"].pop("first_feature"),
        lambda card: card["data"].update(features="five"),
        lambda card: card["engine"].update(name="../other"),
        lambda card: card.update(engine=None),
        lambda card: card.update(settings="x"),
        lambda card: card["data"].update(features=10**30),
        lambda card: card["data"].update(features=True),
        lambda card: card["data"].update(first_feature=-1),
        lambda card: card["data"].update(feature_names="abc"),
        lambda card: card["data"].update(feature_names=[1]),
    ],
)
def test_a_card_that_lacks_something_is_told_in_one_line(change, folder):
    changed(folder, change)
    with pytest.raises(InputError, match=r"card\.json: is not the card of a trained model; train it again$"):
        load_model(folder)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "\ufffd"])
def test_a_card_that_is_none_is_told_in_one_line(text, folder):
    (folder / "card.json").write_text(text)
    with pytest.raises(InputError, match=r"card\.json: is not the card of a trained model; train it again$"):
        load_model(folder)


@pytest.mark.parametrize("damage", [lambda t: t[: len(t) // 2], lambda t: "", lambda t: t.replace("e", "f", 1)])
def test_a_damaged_model_never_reaches_the_engine(damage, folder):
    file = folder / "model.txt"
    file.write_text(damage(file.read_text()))
    with pytest.raises(InputError, match=r"model\.txt: is not the model of card\.json beside it, or damaged"):
        load_model(folder)


def test_a_model_ranks_other_queries(models):
    other = ranking_data(9, queries=40)
    for model in models.values():
        metric = settings().reported_metric
        assert metric(model.predict(other), other.labels, other.bounds).mean() > 0.7

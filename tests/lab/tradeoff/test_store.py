"""A store of trainings: complete ones are not trained again, stopped ones go on, others are refused."""

import json

import numpy as np
import pytest
from surefoot_lab.tradeoff.store import ModelStore

from surefoot.errors import InputError
from surefoot.learn.training import resolve_run, train
from tests.learn.small_rankings import BASELINE, TRAINING, VALIDATION, ranking_data, settings


def run_of(data=TRAINING, **more):
    return resolve_run(data, BASELINE, settings(n_estimators=6, **more), valid=VALIDATION)


def never(at):
    raise AssertionError("it was trained again")


def test_a_complete_training_is_loaded(tmp_path):
    store = ModelStore(tmp_path)
    first = store.get_or_train(run_of())
    again = store.get_or_train(run_of(n_jobs=2), report=never)
    alone = train(TRAINING, BASELINE, settings(n_estimators=6), valid=VALIDATION)
    assert first.model.text == again.model.text == alone.model.text
    assert first.history == again.history == alone.history
    assert first.best_iteration == again.best_iteration
    np.testing.assert_array_equal(again.model.predict(VALIDATION), alone.model.predict(VALIDATION))
    (folder,) = tmp_path.iterdir()
    assert folder.name == run_of().key
    assert sorted(path.name for path in folder.iterdir()) == ["card.json", "history.csv", "model.txt", "request.json"]


def test_the_checkpoint_of_a_process_killed_after_its_model_was_saved_is_removed(tmp_path):
    ModelStore(tmp_path).get_or_train(run_of(), "mine")
    (tmp_path / "mine" / "checkpoint.json").write_text("left")
    ModelStore(tmp_path).get_or_train(run_of(), "mine", never)
    assert not (tmp_path / "mine" / "checkpoint.json").exists()


def test_each_request_has_a_key_of_its_own(tmp_path):
    runs = [run_of(), run_of(alpha=2), run_of(objective="saro"), run_of(ranking_data(5)), run_of(seed=9)]
    assert len({run.key for run in runs}) == len(runs)


@pytest.mark.parametrize("n_bags", [1, 2])
def test_a_stopped_training_goes_on(n_bags, tmp_path):
    def stop(at):
        if at.iteration == 6 * n_bags - 2:
            raise KeyboardInterrupt

    store, seen = ModelStore(tmp_path), []
    with pytest.raises(KeyboardInterrupt):
        store.get_or_train(run_of(n_bags=n_bags), "mine", stop)
    assert (tmp_path / "mine" / "checkpoint.json").exists()
    found = store.get_or_train(run_of(n_bags=n_bags), "mine", seen.append)
    assert len(seen) == (6 if n_bags > 1 else 2)  # bags are random: they go on where the RNG was reseeded
    assert found.model.text == store.get_or_train(run_of(n_bags=n_bags), "whole").model.text
    assert not (tmp_path / "mine" / "checkpoint.json").exists()


def test_a_folder_of_another_training_is_refused(tmp_path):
    store = ModelStore(tmp_path)
    store.get_or_train(run_of(), "mine")
    with pytest.raises(InputError, match=r"request\.json: belongs to a training with another alpha; name another fold"):
        store.get_or_train(run_of(alpha=2), "mine")
    (tmp_path / "mine" / "request.json").write_text(json.dumps([1]))
    with pytest.raises(InputError, match="is not the request of a training"):
        store.get_or_train(run_of(), "mine")
    (tmp_path / "mine" / "request.json").unlink()
    (tmp_path / "mine" / "history.csv").unlink()
    with pytest.raises(InputError, match=r"history\.csv: is missing"):
        store.get_or_train(run_of(), "mine")


def test_without_a_folder_everything_is_trained():
    assert ModelStore(None).get_or_train(run_of()).model.text == ModelStore(None).get_or_train(run_of()).model.text

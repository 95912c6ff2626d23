"""Predictions and results of MTEB: a real task in memory, run with a real model object."""

import json

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")
mteb = pytest.importorskip("mteb", reason="mteb is not installed")


def test_results_have_tasks_as_topics(tmp_path):
    from surefoot import SurefootError
    from surefoot.integrations.mteb import task_scores

    for model, shift in (("old", 0.0), ("new", 0.1)):
        folder = tmp_path / model / "revision"
        folder.mkdir(parents=True)
        (folder / "model_meta.json").write_text("{}")
        for task, score in (("NFCorpus", 0.3), ("SciFact", 0.6)):
            result = mteb.TaskResult(
                dataset_revision="1",
                task_name=task,
                mteb_version="2",
                scores={"test": [{"main_score": score + shift, "hf_subset": "default", "languages": ["eng-Latn"]}]},
                evaluation_time=1.0,
            )
            (folder / f"{task}.json").write_text(json.dumps(result.to_dict(), default=str))
    scores = task_scores([tmp_path / "old", tmp_path / "new"])
    assert scores.topics == ("NFCorpus", "SciFact")
    np.testing.assert_allclose(scores["new"], [0.4, 0.7])
    (tmp_path / "new" / "revision").rename(tmp_path / "old" / "next")
    with pytest.raises(SurefootError, match="a second result of NFCorpus by old"):
        task_scores([tmp_path / "old"])


def test_predictions_as_mteb_writes_them(tmp_path):
    from mteb.abstasks.abstask import AbsTask

    from surefoot import score_runs
    from surefoot.integrations.mteb import prediction_scores

    class Meta:
        name, revision = "org/model", "1"

    class Model:
        mteb_model_meta = Meta

    class Task:
        metadata = type("M", (), {"name": "Tiny"})
        prediction_file_name = "Tiny_predictions.json"
        _predictions_path = AbsTask._predictions_path

    run, qrels = {"q1": {"d1": 0.5, "d2": 0.9}}, {"q1": {"d1": 1, "d2": 0}}
    AbsTask._save_task_predictions(Task(), run, Model, tmp_path, "test", "default")
    scores = prediction_scores([tmp_path], ("Tiny", qrels), "RR")
    assert scores.systems == ("model",)
    assert scores["model"].tolist() == score_runs({"model": run}, qrels, "RR")["model"].tolist() == [0.5]

"""Results in real trackers, on disk and offline."""

import json

import pytest

from surefoot import Scores, compare, evaluate, gate
from surefoot.integrations.logging import log_mlflow, log_wandb, metrics_of

RESULT = evaluate(Scores([[0.2, 0.4, 0.3], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"]), "old", [0, 5])


def test_names_of_metrics():
    metrics = metrics_of(RESULT)
    assert metrics["new/losses"] == 1
    assert set(metrics) == {
        f"{system}/{name}" for system in ("old", "new") for name in ("mean", "losses", "alpha=0/urisk", "alpha=5/urisk")
    }
    assert "old/alpha=0/trisk" not in metrics_of(RESULT, ["trisk"])  # undefined


def test_metrics_of_a_gate():
    scores = Scores([[0.2, 0.4, 0.3], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"], "RR")
    found = gate(scores, "old", candidate="new")
    metrics = metrics_of(found)
    assert metrics["passes"] == metrics["fails"] == 0
    assert (metrics["RR/old/losses"], metrics["RR/old/candidate_mean"]) == (1, pytest.approx(0.3))
    assert metrics_of(compare("old", "new", scores=scores)) == metrics


@pytest.mark.filterwarnings("ignore")
def test_mlflow(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'm.db'}")
    try:
        identity = mlflow.create_experiment("e", artifact_location=(tmp_path / "artifacts").as_uri())
    except Exception as error:  # the skinny package has no store for tests
        pytest.skip(f"MLflow can't store runs here: {error}")
    with mlflow.start_run(experiment_id=identity) as run:
        log_mlflow(RESULT, step=3)
        log_mlflow(gate(Scores([[0.2, 0.4], [0.3, 0.1]], ["old", "new"], ["q1", "q2"]), "old", candidate="new"), "gate")
    stored = mlflow.get_run(run.info.run_id)
    assert stored.data.metrics["new/losses"] == 1
    assert "passes" in stored.data.metrics
    assert json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/gate.json"))["sentence"]
    assert json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/surefoot.json"))["rows"]


@pytest.mark.filterwarnings("ignore")
def test_wandb(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(mode="offline", dir=str(tmp_path), project="surefoot")
    log_wandb(RESULT, run)
    assert run.summary["new/losses"] == 1
    run.finish()

"""Exported models rank as the models do, by the program of the manual."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.guard.guard import Guard
from surefoot.learn.data import RankingData
from surefoot.learn.export import export_model
from surefoot.learn.models import Model
from surefoot.learn.settings import SAFE, Settings
from surefoot.learn.training import train

PAGE = Path(__file__).parents[2] / "docs" / "research" / "guard-file.md"
QUERIES, SIZE = 110, 9
QUICK = replace(SAFE, n_estimators=8, min_child_samples=5, n_bags=2, n_jobs=1)


def program() -> dict[str, Any]:
    """The names of the manual's program."""
    (block,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "def leaf(" in one]
    names: dict[str, Any] = {}
    exec(block, names)
    return names


@pytest.fixture(scope="module")
def data() -> RankingData:
    rng = np.random.default_rng(5)
    features = rng.normal(size=(QUERIES * SIZE, 4)).astype(np.float32)
    features[:, 2] = np.rint(features[:, 2])
    labels = np.clip(np.rint(features[:, 0] + features[:, 1] + rng.normal(size=QUERIES * SIZE)), 0, 2)
    features[::7, 0], features[::11, 3] = np.nan, 0
    return RankingData.of(features, labels, np.repeat(np.arange(QUERIES), SIZE))


def validate_program(model: Model, data: RankingData, file: Path) -> None:
    rank, exported = program()["rank"], json.loads(file.read_text())
    scores = model.predict(data)
    for query in range(QUERIES):
        rows = slice(*data.bounds[query : query + 2])
        found = rank(exported, np.asarray(data.features)[rows].astype(float).tolist())
        assert found == np.argsort(-scores[rows], kind="stable").tolist()


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("kind", [None, "second-stage", "log-rank", "z", "threshold"])
def test_the_program_of_the_manual_ranks_as_the_model(
    engine: Any, kind: str | None, data: RankingData, tmp_path: Path
) -> None:
    settings = replace(QUICK, engine=engine, guard=kind)
    if kind is None:
        settings = replace(settings, n_bags=1, early_stopping_rounds=None, stop_on=None)
    model = train(data, "feature:1", settings).model
    assert export_model(model, tmp_path / "ranker.json") == [tmp_path / "ranker.json"]
    validate_program(model, data, tmp_path / "ranker.json")
    if kind == "z":
        bold = replace(model, guard=Guard("z", 0.6, model.guard.scale, safety=0.4))  # type: ignore[union-attr]
        export_model(bold, tmp_path / "bold.json")
        validate_program(bold, data, tmp_path / "bold.json")


def test_the_command(data: RankingData, tmp_path: Path, capsys: Any) -> None:
    model = train(data, "feature:1", QUICK, output=tmp_path / "model").model
    assert main(["export", str(tmp_path / "model"), "-o", str(tmp_path / "r.json")]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/r.json: {model.card['trees']} trees and their guard\n"
    replace(model, guard=Guard()).save(tmp_path / "unguarded")
    assert main(["export", str(tmp_path / "unguarded"), "-o", str(tmp_path / "u.json")]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/u.json: {model.card['trees']} trees\n"
    assert main(["export", str(tmp_path / "model"), "-o", str(tmp_path / "r.json")]) == 2
    assert "exists; name another, or overwrite it with --force" in capsys.readouterr().err
    text = (tmp_path / "r.json").read_text()
    assert "NaN" not in text
    assert math.isfinite(json.loads(text)["guard"]["scale"]["spread"])


@pytest.mark.parametrize(("to", "package"), [("treelite", "treelite"), ("onnx", "onnxmltools")])
def test_a_missing_package_is_one_line(
    to: str, package: str, data: RankingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = train(data, settings=Settings("lambdamart", n_estimators=2)).model
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SurefootError, match=f"pip install {package}"):
        export_model(model, tmp_path / "out", to)
    assert not (tmp_path / "out").exists()


def treelite_scores(file: Path, features: Any) -> Any:
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    return treelite.gtil.predict(treelite.Model.deserialize_bytes(file.read_bytes()), features)


def onnx_scores(file: Path, features: Any) -> Any:
    runtime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    return runtime.InferenceSession(str(file)).run(None, {"features": features})[0]


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
@pytest.mark.parametrize(
    ("to", "package", "predict"), [("treelite", "treelite", treelite_scores), ("onnx", "onnxmltools", onnx_scores)]
)
def test_other_services_score_as_the_trees_do(
    to: str, package: str, predict: Any, engine: Any, data: RankingData, tmp_path: Path
) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    model = train(data, "feature:1", replace(QUICK, engine=engine)).model
    trees, guard = export_model(model, tmp_path / "ranker", to)
    expected = replace(model, guard=None).predict(data)
    np.testing.assert_allclose(predict(trees, np.asarray(data.features)).ravel(), expected, atol=1e-6)
    assert Guard.load(guard) == model.guard


def test_what_is_not_exported_is_told(data: RankingData, tmp_path: Path) -> None:
    linear = train(data.select(np.arange(20)), settings=Settings("lambdamart", learner="afs", n_estimators=2)).model
    with pytest.raises(SurefootError, match="only models of trees are exported; this one is linear"):
        export_model(linear, tmp_path / "x")
    settings = Settings("lambdamart", n_estimators=2, params={"zero_as_missing": True})
    with pytest.raises(SurefootError, match="with 0 as missing, are not exported"):
        export_model(train(data, settings=settings).model, tmp_path / "x")
    with pytest.raises(SurefootError, match="json, treelite, onnx"):
        export_model(linear, tmp_path / "x", "pmml")

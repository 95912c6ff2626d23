"""Result files of MTEB as scores, tasks being topics, and what is wrong with some of them."""

import json
from pathlib import Path

import pytest

from surefoot import evaluate, read_scores
from surefoot.cli import main
from surefoot.errors import InputError


def write_result(folder: Path, task: str, scores: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{task}.json"
    path.write_text(json.dumps({"task_name": task, "mteb_version": "2", "scores": scores}, indent=2))
    return path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for model, shift in (("org__old", 0.0), ("org__new", 0.1)):
        folder = tmp_path / model / "abc123"
        for task, score in (("NFCorpus", 0.3), ("SciFact", 0.6)):
            parts = [{"main_score": score + shift, "hf_subset": "a"}, {"main_score": score - shift, "hf_subset": "b"}]
            write_result(
                folder, task, {"dev": [{"main_score": 1.0}], "test": parts if task == "SciFact" else parts[:1]}
            )
        (folder / "model_meta.json").write_text("{}")
    return tmp_path


def test_folders_are_tables_of_scores(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = read_scores(results)
    assert (scores.measure, scores.topics) == ("main_score", ("NFCorpus", "SciFact"))
    assert scores["org__new"].tolist() == pytest.approx([0.4, 0.6])
    assert evaluate([results], "org__old").columns["losses"].tolist() == [0, 0]
    folders = [str(results / "org__old"), str(results / "org__new")]
    assert main(["explore", "--scores", *folders, "--system", "org__new", "--baseline", "org__old"]) == 0
    assert "NFCorpus" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"test": []}, "the split test should be a list of subsets"),
        ({"test": [{"main_score": None}]}, "each with a number as main_score"),
        ({"dev": [{"main_score": 1}], "train": []}, "has no split test; there are dev, train"),
        ([], "has no split test; there are none"),
        ({"test": [1]}, "each with a number"),
    ],
)
def test_what_is_no_score_is_one_clear_line(results: Path, scores: object, message: str) -> None:
    path = write_result(results / "org__new" / "abc123", "Bad", scores)
    with pytest.raises(InputError) as caught:
        read_scores(results / "org__new")
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_damage_and_other_files(results: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    single = results / "org__old" / "abc123" / "NFCorpus.json"
    with pytest.raises(InputError, match="one result of MTEB; give the folder of its model"):
        read_scores(single)
    write_result(results / "org__old" / "next", "NFCorpus", {"test": [{"main_score": 0.1}]})
    with pytest.raises(InputError, match="a second result of NFCorpus by org__old"):
        read_scores(results)
    single.write_text('{"task_name": "NFCor')
    with pytest.raises(InputError, match="not JSON, or cut off"):
        read_scores(results)
    with pytest.raises(InputError, match="holds no results of MTEB"):
        read_scores(tmp_path_factory.mktemp("empty"))

import pytest

from surefoot.cli import main


@pytest.fixture(autouse=True)
def small_library(monkeypatch, small):
    monkeypatch.setattr("surefoot_lab.demo.task.collection", lambda: small)


def test_demo_writes_files_and_tells(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 0
    out = capsys.readouterr().out
    assert "11 systems answered 3 queries." in out
    assert f" explore {tmp_path}/demo/runs/*.run --qrels {tmp_path}/demo/qrels.txt" in out
    assert (tmp_path / "demo" / "runs" / "BM25+RM3.run").exists()


def test_a_file_in_the_way(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["demo", "-o", str(tmp_path / "taken")]) == 2
    assert "taken: can't be written: File exists" in capsys.readouterr().err


def test_help(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--help"])
    assert stop.value.code == 0
    assert "--output DIR" in capsys.readouterr().out

"""The pytest plugin, the GitHub Action and the pre-commit hook, run as their hosts run them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.cli import main
from tests.integrations.hosts import ROOT, environment, run_action, run_pytest

TABLE = "topic,old,new\n" + "".join(f"q{i},0.{5 + i % 3},0.{{}}\n" for i in range(400))
BAD, GOOD = TABLE.replace("{}", "1"), TABLE.replace("{}", "8")


@pytest.mark.parametrize(("table", "passes"), [(BAD, False), (GOOD, True)])
def test_the_pytest_plugin(tmp_path: Path, table: str, passes: bool) -> None:
    (tmp_path / "scores.csv").write_text(table)
    (tmp_path / "test_search.py").write_text(
        "def test_search(surefoot):\n    surefoot.gate('scores.csv', baseline='old', candidate='new')\n"
    )
    found = run_pytest(tmp_path)
    assert found.returncode == (0 if passes else 1), found.stdout
    assert ("1 passed" if passes else "1 failed") in found.stdout
    if not passes:
        assert "queries lost" in found.stdout
        assert "Traceback" not in found.stdout


@pytest.mark.parametrize(("table", "code", "verdict"), [(BAD, 1, "fail"), (GOOD, 0, "pass")])
def test_the_action(tmp_path: Path, table: str, code: int, verdict: str) -> None:
    folder = tmp_path / "work"
    (folder / "search team").mkdir(parents=True)
    (folder / "search team" / "my scores.csv").write_text(table)
    found = run_action(
        folder, "--scores 'my scores.csv' --candidate new --baseline old", working_directory="search team"
    )
    assert found.code == code
    assert found.outputs["verdict"] == verdict
    assert found.outputs["sentence"] == json.loads(found.json)["sentence"]
    assert Path(found.outputs["markdown"]).read_text() == found.summary
    assert "new is" in found.summary
    assert found.installed == [str(ROOT)]
    assert (Path(found.installed[0]) / "pyproject.toml").exists()


def test_the_action_expands_patterns_and_reports_bad_input(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for name, documents in (("old", "12"), ("new", "12")):
        (folder / f"{name}.run").write_text("".join(f"q1 Q0 d{d} 1 {i} x\n" for i, d in enumerate(documents)))
    (folder / "qrels.txt").write_text("q1 0 d1 1\n")
    found = run_action(folder, "*.run --qrels qrels.txt --candidate new --baseline old", version="surefoot==0.3.0")
    assert (found.code, found.outputs["verdict"]) == (0, "pass")
    assert found.installed == ["surefoot==0.3.0"]
    broken = run_action(folder, "*.run --qrels none.txt --candidate new --baseline old")
    assert (broken.code, broken.outputs["verdict"], broken.summary) == (2, "", "")


def test_the_reports_make_their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").write_text(GOOD)
    words = ["gate", "--scores", "scores.csv", "--candidate", "new", "--baseline", "old"]
    assert main([*words, "--junit", "out/ci/gate.xml", "--markdown", "out/gate.md"]) == 0
    assert Path("out/ci/gate.xml").exists()
    assert Path("out/gate.md").exists()


def test_examples_name_no_revision_that_does_not_exist() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    config = yaml.safe_load((ROOT / "examples" / "pre-commit-config.yaml").read_text())
    assert all(repo["repo"] == "local" for repo in config["repos"])


def test_the_hook_of_pre_commit_names_a_command() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    module, command = hook["entry"].split()
    found = subprocess.run(
        [sys.executable, "-m", module, command, "--help"], env=environment(), capture_output=True, text=True, check=True
    )
    assert "--candidate" in found.stdout

"""surefoot figure, as users type it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.cli.figures import AGREEMENT

from surefoot.cli import main
from surefoot.cli.figure import FIGURES

PAIR = ["--system", "new", "--baseline", "old"]
WORDS: dict[str, list[str]] = {
    "shape": ["--systems", "new,s3", "--order", "mean"],
    "profile": ["--label", "new"],
    "alpha": ["--baseline", "old", "--of", "urisk", "--alpha", "0,5", "--systems", "new,s3"],
    "topics": ["--system", "new,s3", "--baseline", "old", "--alpha", "0,5"],
    "pca": ["--systems", "old,new,s3", "--include"],
    "correlation": ["--baseline", "old", "--alpha", "5"],
    "paired": PAIR,
    "sorted": ["--systems", "new,s3", "--baseline", "MEAN", "--alpha", "0,5", "--mutual"],
    "differences": ["--baseline", "MEDIAN"],
    "values": ["--baseline", "old", "--alpha", "0.5"],
    "qq": [*PAIR, "--n-resamples", "100", "--seed", "3"],
    "rbo": ["--baseline", "old", "--of", "urisk"],
    "helped": [*PAIR, "--change", "absolute"],
    "cross": ["--alpha", "10"],
    "plane": ["--baseline", "old", "--n-resamples", "100"],
    "forest": ["--of", "georisk", "--method", "jackknife"],
}


@pytest.fixture
def table(tmp_path: Path) -> str:
    systems = ["old", "new", "s3", "s4", "s5", "s6"]
    scores = (np.random.default_rng(3).beta(2, 5, (15, len(systems))) / 3).round(3)
    rows = [",".join(map(str, [f"q{number}", *row])) for number, row in enumerate(scores.tolist())]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join([",".join(["topic", *systems]), *rows]) + "\n")
    return str(path)


def test_all_kinds_are_here() -> None:
    assert set(WORDS) == {*FIGURES, *AGREEMENT}


@pytest.mark.parametrize("kind", WORDS)
def test_each_kind_writes_a_file(kind: str, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / f"{kind}.svg"
    assert main(["figure", kind, "--scores", table, *WORDS[kind], "-o", str(output)]) == 0
    assert output.read_bytes().startswith(b"<?xml")
    assert capsys.readouterr() == ("", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"{kind}.svg", "scores.csv"])


@pytest.mark.parametrize("kind", WORDS)
def test_each_kind_takes_a_population(kind: str, table: str, tmp_path: Path) -> None:
    words = ["figure", kind, "--scores", table, *WORDS[kind], "--population", "old,new,s3,s4,s5"]
    assert main([*words, "-o", str(tmp_path / "f.svg")]) == 0


def test_a_population_is_what_zrisk_is_made_of(table: str, tmp_path: Path) -> None:
    """As if the other systems had not been read."""
    words = ["figure", "alpha", "--of", "georisk"]
    few = tmp_path / "few.csv"
    lines = [",".join(line.split(",")[:5]) for line in Path(table).read_text().splitlines()]
    few.write_text("\n".join(lines) + "\n")
    population = ["--scores", table, "--population", "old,new,s3,s4"]
    assert main([*words, *population, "-o", str(tmp_path / "a.svg")]) == 0
    assert main([*words, "--scores", str(few), "-o", str(tmp_path / "b.svg")]) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_value_functions_need_no_data(tmp_path: Path) -> None:
    assert main(["figure", "values", "-o", str(tmp_path / "v.pdf")]) == 0
    assert (tmp_path / "v.pdf").read_bytes().startswith(b"%PDF")


def test_notes_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "gaps.csv"
    table.write_text("topic,old,new\nq1,0.1,\nq2,0.3,0.2\n")
    words = ["figure", "profile", "--scores", str(table), "--missing", "zero", "-o", str(tmp_path / "f.png")]
    assert main(words) == 0
    assert capsys.readouterr().err == "note: 1 missing score filled with 0: new on q1\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["profile", "-o", "f.jpg"], "f.jpg: the name of a figure must end in svg, png, pdf"),
        (["profile", "-o", "f"], "the name of a figure must end in svg, png, pdf"),
        (["profile", "-o", "nowhere/f.svg"], "can't be written"),
        (["paired", "--system", "nobody", "--baseline", "old", "-o", "f.svg"], "no system 'nobody'"),
        (["alpha", "--of", "trisk", "-o", "f.svg"], "trisk needs a baseline"),
        (["forest", "--of", "nonsense", "-o", "f.svg"], "no measure 'nonsense'"),
        (["alpha", "--of", "urisk", "--baseline", "old", "--population", "new,s3", "-o", "f.svg"], "add old"),
    ],
)
def test_mistakes_are_said_in_one_line(
    words: list[str],
    said: str,
    table: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["figure", *words, "--scores", table]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]


@pytest.mark.parametrize("words", [["pie", "-o", "f.svg"], [], ["profile"], ["paired", "-o", "f.svg"]])
def test_wrong_words_exit_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["figure", *words])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    if words[:1] == ["pie"]:
        assert all(kind in error for kind in FIGURES)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, surefoot.cli as cli\n"
        "try: cli.main(['figure', 'alpha', '--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('matplotlib', 'numpy', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"

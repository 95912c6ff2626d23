"""Two versions in one sentence: the same words from compare, the gate, the report and judge."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot import Scores
from surefoot.cli import main
from surefoot.release_gate.render import render_compared, render_gate, render_markdown
from surefoot.release_gate.verdict import Change

DOCUMENTS = [f"d{i}" for i in range(12)]


def write_run(path: Path, random: np.random.Generator, queries: int, skill: float) -> None:
    """A run that ranks the relevant documents d0 to d2 the higher, the larger the skill."""
    lines = []
    for query in range(queries):
        scores = random.normal(size=len(DOCUMENTS)) + skill * (np.arange(len(DOCUMENTS)) < 3)
        lines += [f"q{query} Q0 {name} 1 {score} x" for name, score in zip(DOCUMENTS, scores, strict=True)]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("number", range(20))
def test_compare_gate_report_and_judge_agree_in_words(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    random = np.random.default_rng(number)
    queries, judged = int(random.integers(8, 90)), int(random.integers(5, 13))
    skills = random.uniform(0, 3, 2) if number else (2.0, 2.0)
    for name, skill in zip(("old", "new"), skills, strict=True):
        write_run(Path(f"{name}.run"), np.random.default_rng(0) if not number else random, queries, skill)
    grades = [f"q{query} 0 d{i} {int(i < 3)}" for query in range(queries) for i in range(judged)]
    Path("qrels.txt").write_text("\n".join(grades) + "\n")
    pair, files = ["--baseline", "old", "--candidate", "new"], ["old.run", "new.run", "--qrels", "qrels.txt"]

    sentence = sf.compare("old.run", "new.run", "qrels.txt").sentence
    scores = sf.score_runs(["old.run", "new.run"], "qrels.txt")
    assert sf.gate(scores, "old", candidate="new").sentence() == sentence
    assert main(["compare", *files]) == 0
    assert capsys.readouterr().out.startswith(sentence)
    main(["gate", *files, *pair])
    assert sentence in capsys.readouterr().out
    main(["judge", *files, *pair, "-o", "judge.csv"])
    assert capsys.readouterr().err.startswith(sentence)
    assert main(["report", *files, *pair, "-o", "report.html"]) == 0
    assert (
        json.dumps(sentence, ensure_ascii=False) in Path("report.html").read_text()
        or json.dumps(sentence) in Path("report.html").read_text()
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((4, 0.5, 0.6, 3, 1, 0, 1), "is better than old on average (RR 0.5000 → 0.6000, +0.1000), but 1 of 4 queries"),
        ((4, 0.5, 0.6, 4, 0, 0, 0), "and no query got worse"),
        ((4, 0.5, 0.4, 1, 3, 0, 2), "is worse than old on average (RR 0.5000 → 0.4000, -0.1000), and 3 of 4 queries "
         "got worse, 2 of them by more than a fifth"),
        ((4, 0.5, 0.5, 2, 2, 0, 0), "is as good as old on average (RR 0.5000 → 0.5000, +0.0000), and 2 of 4 queries "
         "got worse, none of them by more than a fifth"),
        ((4, 0.5, 0.5, 0, 0, 4, 0), "has the scores of old on all 4 queries"),
        ((4, 0.5, 0.6, 4, 0, 0, 0), "+0.1000), and no query got worse"),
        ((4, 0.5, 0.4, 1, 3, 0, 3), "3 of 4 queries got worse, all of them by more than a fifth"),
        ((4, 0.5, 0.6, 3, 1, 0, 1), "1 of 4 queries got worse, by more than a fifth"),
    ],
)  # fmt: skip
def test_what_changed_in_words(change: tuple[float, ...], words: str) -> None:
    assert words in Change("RR", "old", *change).words()  # type: ignore[arg-type]


def test_the_sentence_says_noise_only_where_the_mean_may_be_noise() -> None:
    assert "+0.1000, which may be noise), and no" in Change("RR", "old", 4, 0.5, 0.6, 4, 0, 0, 0).words(noise=True)
    random = np.random.default_rng(3)
    old = random.uniform(0.4, 0.8, 12)
    for shift in (-0.3, -0.05, 0.05):
        scores = Scores([old, old + shift * random.choice([0.0, 1.0, 1.0], 12)], ["old", "new"], range(12))
        result = sf.gate(scores, "old", candidate="new")
        failed = [one.rule for one in result.findings if one.verdict == "fail"]
        assert not ("mean" in failed and "may be noise" in result.sentence())


def test_the_sentence_of_several_baselines_is_about_the_one_that_decides() -> None:
    base = np.random.default_rng(0).uniform(0.4, 0.6, 60)
    scores = Scores([base - 0.3, base + 0.3, base], ["low", "high", "new"], range(60))
    result = sf.gate(scores, ["low", "high"], candidate="new")
    assert result.verdict == "fail"
    assert result.sentence().startswith("new is worse than high")
    assert result.sentence(result.changes[0]).endswith("; this comparison passes.")


def two(shift: float, queries: int = 60) -> Scores:
    base = np.random.default_rng(0).uniform(0.3, 0.7, queries)
    own = base + shift + np.random.default_rng(1).normal(0, 0.1, queries)
    return Scores([base, own], ["old", "new"], [f"q{i}" for i in range(queries)])


@pytest.mark.parametrize(
    ("scores", "verdict", "words", "command"),
    [
        (two(0.1), "pass", "; it may ship.", "surefoot gate ..."),
        (two(-0.1), "fail", "; it should not ship: the mean fell by", "surefoot explore ..."),
        (two(0.0, 30), "undecided", "not enough to ship: 30 queries can show losses of 0.0", "surefoot explore ..."),
        (two(0.2, 12), "undecided", "not enough to ship: a pass needs at least 20 queries", "surefoot explore ..."),
    ],
)
def test_the_verdict_in_words_and_the_next_command(scores: Scores, verdict: str, words: str, command: str) -> None:
    found = sf.compare("old", "new", scores=scores)
    assert found.verdict == verdict
    assert words in found.sentence
    assert found.next_command.startswith(command)


def test_the_numbers_are_those_of_evaluate() -> None:
    scores = two(0.02)
    numbers = sf.compare("old", "new", scores=scores).numbers
    row = next(row for row in sf.evaluate(scores, "old", [0, 1]).rows() if row["system"] == "new" and row["alpha"] == 1)
    flat = next(row for row in sf.evaluate(scores, "old", 0).rows() if row["system"] == "new")
    assert len(numbers) == 8
    assert {name: numbers[name] for name in ("wins", "losses", "loss20")} == {
        name: row[name] for name in ("wins", "losses", "loss20")
    }
    assert numbers["urisk"] == pytest.approx(row["urisk"], abs=1e-12)
    assert numbers["p_mean"] == pytest.approx(flat["p"], abs=1e-12)
    assert numbers["change"] == pytest.approx(flat["urisk"], abs=1e-12)


def test_formats_show_sentence_numbers_and_queries() -> None:
    found = sf.compare("old", "new", scores=two(-0.05), queries={"q3": "how to tie a tie"})
    worst = found["topic"].tolist()
    for text in (render_compared(found), render_compared(found, "md"), str(found)):
        assert all(name in text for name in ("U_Risk (alpha 1)", "lost", worst[0], "Next:"))
    whole = json.loads(render_compared(found, "json"))
    assert whole["sentence"] == found.sentence
    assert [row["topic"] for row in whole["rows"]] == worst
    assert found.sentence in render_gate(found.gate, width=1000)
    assert "got worse" in render_markdown(found.gate)


def test_the_policy_file_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{topic},{a},{b}" for topic, a, b in zip(two(-0.1).topics, *two(-0.1).values, strict=True)]
    Path("scores.csv").write_text("\n".join(["topic,old,new", *lines]) + "\n")
    for words in (["old", "new"], ["--baseline", "old", "--candidate", "new"]):
        assert main(["compare", *words, "--scores", "scores.csv", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["verdict"] == "fail"
    Path("surefoot.toml").write_text("[gate]\nmean-tolerance = 0.5\nmax-losses = 1\nmax-tail-loss = 1\n")
    assert main(["compare", "old", "new", "--scores", "scores.csv", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "pass"
    assert found["next_command"].startswith("surefoot gate --scores scores.csv --baseline old --candidate new")


def test_two_tables_are_two_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    both = two(0.1)
    for name in both.systems:
        rows = [f"{topic},{value}" for topic, value in zip(both.topics, both[name], strict=True)]
        Path(f"{name}.csv").write_text("\n".join([f"topic,{name}", *rows]) + "\n")
    assert main(["compare", "old.csv", "new.csv", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["baseline"], found["candidate"]) == ("old", "new")
    assert found["next_command"].startswith("surefoot gate --scores old.csv new.csv --baseline old --candidate new")
    assert main(["compare", "old.csv"]) == 2
    assert "it has old" in capsys.readouterr().err
    for same in (sf.compare("old.csv", Path("new.csv")), sf.compare("old", "new", scores=["old.csv", "new.csv"])):
        assert same.sentence == found["sentence"]
    assert shlex.split(sf.compare("old.csv", "new.csv").next_command)[2:5] == ["--scores", "old.csv", "new.csv"]


def test_scores_are_of_one_measure(tmp_path: Path) -> None:
    better, worse = two(0.1), two(-0.1)
    with pytest.raises(sf.SurefootError, match="one measure; got score, AP: choose one"):
        sf.compare("old", "new", scores=[better, replace(worse, measure="AP")])
    log = tmp_path / "log.csv"
    rows = [
        f"{system},{topic},{measure},{value}"
        for measure, scores in {"nDCG@10": better, "AP": worse}.items()
        for system in scores.systems
        for topic, value in zip(scores.topics, scores[system], strict=True)
    ]
    log.write_text("\n".join(["system,topic,measure,value", *rows]) + "\n")
    for given in (log, [str(log)]):
        found = sf.compare("old", "new", measure="AP", scores=given)
        assert found.sentence == sf.compare("old", "new", scores=replace(worse, measure="AP")).sentence


@pytest.mark.parametrize(
    "words",
    [["old.run"], ["old.run", "new.run"], ["a", "--scores", "t.csv"], ["a", "b", "--scores", "t", "--qrels", "q"]],
)
def test_wrong_use_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_runs_of_one_name_are_old_and_new() -> None:
    runs = [{"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d1": 1.0, "d2": 2.0}}]
    found = sf.compare(*runs, {"q1": {"d1": 1}}, "RR")
    assert (found.gate.baselines, found.gate.candidate) == (("old",), "new")
    with pytest.raises(sf.SurefootError, match="qrels"):
        sf.compare("a.run", "b.run")

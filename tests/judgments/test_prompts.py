"""Prompts for a language model, and its answers as qrels."""

import json

import pytest

from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.io.trec import read_qrels
from surefoot.judgments.prompts import prompt_lines, read_answers
from tests.judgments.collection import random_collection


def answer(topic, document, content):
    message = {"choices": [{"message": {"content": content}}]}
    return json.dumps({"custom_id": json.dumps([topic, document]), "response": {"body": message}})


def test_answers_come_back_as_qrels(tmp_path, capsys):
    files, qrels = random_collection(tmp_path, seed=2)
    (tmp_path / "queries.tsv").write_text("".join(f"{topic}\tquery {topic}\n" for topic in range(6)))
    (tmp_path / "texts.tsv").write_text("".join(f"d{n}\ttext {n}, {{braces}}\n" for n in range(12)))
    prompts, answers, graded = (str(tmp_path / name) for name in ("my-llm.jsonl", "answers.jsonl", "my-llm.qrels"))
    words = ["judge", *map(str, files), "--qrels", str(qrels), "--measure", "nDCG@5", "--prompts", prompts]
    texts = ["--queries", str(tmp_path / "queries.tsv"), "--documents-text", str(tmp_path / "texts.tsv")]
    assert main([*words, *texts]) == 0
    lines = [json.loads(line) for line in (tmp_path / "my-llm.jsonl").read_text().splitlines()]
    pairs = [tuple(json.loads(line["custom_id"])) for line in lines]
    ranked = {}
    for file in files:
        for line in file.read_text().splitlines():
            topic, _, document, _, score, _ = line.split()
            ranked.setdefault((file, topic), []).append((-float(score), document))
    assert set(pairs) == {(t, d) for (_, t), own in ranked.items() for _, d in sorted(own)[:5]}
    assert len(set(pairs)) == len(pairs)
    assert lines[0]["body"]["model"] == "my-llm"
    assert f"query {pairs[0][0]}" in lines[0]["body"]["messages"][0]["content"]
    assert "{braces}" in lines[0]["body"]["messages"][0]["content"]
    (tmp_path / "answers.jsonl").write_text("".join(answer(*pair, "Grade 1? No.\ngrade: 3") + "\n" for pair in pairs))
    assert main(["judge", "--merge", answers, "-o", graded]) == 0
    found = read_qrels(graded)
    assert len(found) == len(pairs)
    assert set(found.grades.tolist()) == {3}
    assert main(words) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["judge", "--merge", answers, "--qrels", str(qrels), "-o", str(tmp_path / "x")]) == 2
    assert "leave out runs and --qrels" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["{", '{"topic": "q"}', answer("q", "d", "no number"), "3", '{"custom_id": "q"}'])
def test_bad_answers_are_refused_with_their_line(line):
    with pytest.raises(SurefootError, match=r"answers.jsonl:2: expected"):
        read_answers("answers.jsonl", [answer("q", "e", "Score: 1"), line])


def test_two_grades_and_absent_texts_are_refused():
    with pytest.raises(SurefootError, match="two grades"):
        read_answers("a", [answer("q", "d", "grade: 1"), answer("q", "d", "**grade**: 2")])
    with pytest.raises(SurefootError, match="no answers"):
        read_answers("a", [""])
    with pytest.raises(SurefootError, match="no text of d"):
        list(prompt_lines([("q", "d")], {"q": "x"}, {}, "m"))

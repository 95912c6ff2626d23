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


def read(*lines):
    return read_answers("answers.jsonl", "\n".join(lines).encode())


def graded(grade, topic="q", document="d"):
    return json.dumps({"topic": topic, "document": document, "grade": grade})


NOT_ANSWERS = ["{", '{"topic": "q"}', answer("q", "d", "no number"), "3", "null", '{"custom_id": "q"}', "[" * 9999]


@pytest.mark.parametrize("line", [*NOT_ANSWERS, answer("q", "d", "grade: 2.5"), answer("q", "d", "grade: -3")])
def test_bad_answers_are_refused_with_their_line(line):
    with pytest.raises(SurefootError, match=r'answers.jsonl:2: expected {"topic"'):
        read(answer("q", "e", "Score: 1"), line)


@pytest.mark.parametrize("grade", [2.7, True, -3, 99, None, [1]])
def test_grades_beyond_the_scale_are_refused(grade):
    with pytest.raises(SurefootError, match=r"answers.jsonl:2: expected a whole number from 0 to 3 as the grade"):
        read(graded(1, document="e"), graded(grade))
    with pytest.raises(SurefootError, match="found 7"):
        read(answer("q", "d", "grade: 7"))


def test_two_grades_and_absent_texts_are_refused():
    with pytest.raises(SurefootError, match="two grades"):
        read(answer("q", "d", "grade: 1"), answer("q", "d", "**grade**: 2"))
    with pytest.raises(SurefootError, match="no answers"):
        read("")
    for names in (("a b", "d"), ("q", ""), ("q", "d\n")):
        with pytest.raises(SurefootError, match=r"answers.jsonl:1: .*can't have blanks"):
            read(graded(1, *names))
    with pytest.raises(SurefootError, match="no text of d"):
        list(prompt_lines([("q", "d")], {"q": "x"}, {}, "m"))


def test_the_word_grade_goes_first():
    assert read(answer("q", "d", "Grade 3?\nGrade: 1. On a usual scale: Score 2/3"))[0] == {"q": {"d": 1}}


def test_failed_requests_are_counted(tmp_path, capsys):
    error = {"error": {"message": "too long"}}
    lines = [
        graded(2),
        json.dumps({"custom_id": '["q", "e"]', "response": None, **error}),
        json.dumps({"custom_id": '["q", "f"]', "response": {"status_code": 400, "body": error}, "error": None}),
        answer("q", "g", "A line\u2028and a line. grade: 0").replace("\\u2028", "\u2028"),
    ]
    assert read(*lines) == ({"q": {"d": 2, "g": 0}}, 2)
    with pytest.raises(SurefootError, match="no answers; 1 request failed"):
        read(lines[1])
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    assert main(["judge", "--merge", str(file), "-o", "-"]) == 0
    out, err = capsys.readouterr()
    assert out == "q 0 d 2\nq 0 g 0\n"
    assert "2 grades; 2 requests failed" in err
    file.write_bytes(b"\n" + graded("1").encode().replace(b'"q"', b'"\xe9"'))
    assert main(["judge", "--merge", str(file), "-o", "-"]) == 2
    assert "answers.jsonl:2: expected UTF-8" in capsys.readouterr().err

"""Runs written byte by byte against the obvious way."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from surefoot.io.document_lists import Run
from surefoot.io.memory import run_in_memory
from surefoot.io.trec import read_qrels, read_run
from surefoot.io.trec_writer import qrels_lines, run_lines, written_run


def lines_of(run: Run) -> str:
    names = [run.text[start : start + size].decode() for start, size in zip(run.start, run.length, strict=True)]
    whole = all(score == int(score) for score in run.scores)
    scored = [(name, int(score) if whole else float(score)) for name, score in zip(names, run.scores, strict=True)]
    bounds = pairwise(run.bounds.tolist())
    topics = [(topic, scored[begin:end]) for topic, (begin, end) in zip(run.topics, bounds, strict=True)]
    return "".join(run_lines(topics, run.name))


@pytest.mark.parametrize("unit", [1, 0.125])
def test_a_run_is_written_line_by_line(unit: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.integers(-(10**6), 10**12, 300), [0, -1, 10, 9, 2**53 - 1]]) * unit
    file = tmp_path / "mine.run"
    lines = [f"q{row % 7}\tQ0\tdök-{row:x}  1 {score!r} old" for row, score in enumerate(scores.tolist())]
    file.write_text("\n".join(lines), encoding="utf-8")
    run = read_run(file)
    written = written_run(run)
    assert written.decode() == lines_of(run)
    (tmp_path / "again.run").write_bytes(written)
    np.testing.assert_array_equal(read_run(tmp_path / "again.run").scores, run.scores)


@pytest.mark.parametrize("unit", [1, 0.125])
@pytest.mark.parametrize(("topic", "document"), [("red dress", "d1"), ("q1", "the document")])
def test_ids_with_blanks_are_read_again(topic: str, document: str, unit: float, tmp_path: Path) -> None:
    run = run_in_memory({topic: {document: 2 * unit, "d2": unit}}, "mine")
    (tmp_path / "mine.run").write_bytes(written_run(run))
    again = read_run(tmp_path / "mine.run")
    assert (again.topics, again.documents, again.scores.tolist()) == ((topic,), [document, "d2"], [2 * unit, unit])
    (tmp_path / "mine.qrels").write_text("".join(qrels_lines([(topic, [(document, 1)])])))
    assert read_qrels(tmp_path / "mine.qrels").documents == [document]


def test_fractional_grades_keep_their_digits(tmp_path: Path) -> None:
    grades = [2.0, 0.1 + 0.2, 0.0, -1.0]
    rows = [("q1", [(f"d{place}", grade) for place, grade in enumerate(grades)])]
    lines = list(qrels_lines(rows))
    assert [line.split()[-1] for line in lines] == ["2", "0.30000000000000004", "0", "-1"]
    (tmp_path / "mine.qrels").write_text("".join(lines))
    assert read_qrels(tmp_path / "mine.qrels").grades.tolist() == grades

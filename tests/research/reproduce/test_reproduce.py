"""Every published cell is equal, or differs for a reason that reaches far enough."""

import json
from pathlib import Path

import numpy as np
import pytest

from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.research.reproduce import TABLES, reproduce
from surefoot.research.reproduce.cells import Cell, ranks
from surefoot.scores import Scores

TREC = [name for name, table in TABLES.items() if table.waits_for_scores]


@pytest.fixture(scope="module")
def err20(data: Path) -> Scores:
    return read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")


def test_no_cell_is_unexplained(err20: Scores) -> None:
    result = reproduce(err20)
    assert [row for row in result.rows() if row["verdict"] == "unexplained"] == []
    assert result.waiting == ()


@pytest.mark.parametrize(
    ("table", "cells"), [("ecir2020-table2", 64), ("sigir2016-table4", 84), ("sigir2016-table5", 72)]
)
def test_these_tables_are_equal_cell_by_cell(table: str, cells: int, err20: Scores) -> None:
    assert reproduce(err20, [table]).summary == {
        "cells": cells, "equal": cells, "explained": 0, "unexplained": 0, "not run": 0,
    }  # fmt: skip


@pytest.mark.parametrize("table", ["sigir2014-table1", "sigir2014-table2", "ecir2014-table1"])
def test_these_differ_only_in_two_runs(table: str, err20: Scores) -> None:
    for row in reproduce(err20, [table]).rows():
        if row["row"] not in ("DFalah121A", "irra12c") and row["verdict"] != "equal":
            assert row["reason"] == "the public scores have five decimals"
            assert abs(row["difference"]) <= 1e-4


def test_the_only_unknown_reasons_are_those_of_one_run(err20: Scores) -> None:
    unknown = {
        (row["table"], row["row"], row["column"]) for row in reproduce(err20).rows() if row["reason"] == "unknown"
    }
    assert {(table, row) for table, row, _ in unknown} == {("sigir2016-table6", "srchvrs12c00")}
    assert {column for _, _, column in unknown} == {"tstar_a0", "tstar_a5", "rank_tstar_a5"}


def test_tampered_scores_are_not_explained_away(err20: Scores) -> None:
    """The reasons must not cover a wrong computation: shift one run, and cells turn unexplained."""
    values = err20.values.copy()
    values[err20.row("uogTrA44xi")] = np.clip(values[err20.row("uogTrA44xi")] + 0.1, 0, 1)
    tampered = Scores(values, err20.systems, err20.topics, err20.measure)
    assert reproduce(tampered, ["sigir2014-table1"]).summary["unexplained"] > 0
    assert reproduce(tampered, ["ecir2014-table3"]).summary["unexplained"] > 0


@pytest.mark.parametrize("system", ["DFalah121A", "irra12c", "srchvrs12c00", "qutwb", "ICTNET12ADR2"])
def test_even_where_print_and_data_differ_a_wrong_figure_is_noticed(system: str, err20: Scores) -> None:
    values = err20.values.copy()
    values[err20.row(system)] = values[err20.row(system)][::-1] ** 0.5
    tampered = Scores(values, err20.systems, err20.topics, err20.measure)
    rows = reproduce(tampered).rows()
    assert any(row["verdict"] == "unexplained" and row["row"] == system for row in rows)


def test_without_scores_the_tables_that_need_none_are_done() -> None:
    result = reproduce()
    assert list(result.waiting) == TREC
    assert result.summary["unexplained"] == 0
    assert set(result.tables()) == set(TABLES)
    assert {row["verdict"] for row in result.rows() if row["table"] in TREC} == {"not run"}


def test_learned_tables_are_listed_as_not_run() -> None:
    rows = reproduce(tables=["sigir2014-table3", "sigir2016-table7"]).rows()
    assert {row["verdict"] for row in rows} == {"not run"}
    assert all("MSLR-WEB10K" in row["reason"] for row in rows)


def test_unknown_tables_are_refused() -> None:
    with pytest.raises(SurefootError, match="no table 'table9'; there are sigir2014-table1"):
        reproduce(tables=["table9"])


@pytest.mark.parametrize(
    ("published", "recomputed", "equal"),
    [("0.30", 0.3049, True), ("0.30", 0.305, True), ("0.30", 0.3051, False), ("7", 7.0, True), ("a b", "a b", True)],
)
def test_equal_means_to_the_printed_digit(published: str, recomputed: float | str, equal: bool) -> None:
    assert Cell("r", "c", published, recomputed).equal is equal


def test_a_reason_reaches_only_so_far() -> None:
    cell = Cell("r", "c", "0.30", 0.35)
    assert cell.explain("rounding", within=0.01).verdict == "unexplained"
    assert cell.explain("another copy", within=0.1).verdict == "explained"
    assert cell.explain("one", within=1).explain("two", within=1).reason == "one"
    assert cell.explain("misprint", within=0.01, of=0.355).verdict == "explained"
    assert cell.explain("misprint", within=0.01, of=0.30).verdict == "unexplained"
    assert Cell("r", "c", "0.30", 0.30).explain("needless", within=1).reason == ""


def test_ranks_share_the_better_place() -> None:
    assert ranks({"a": 1.0, "b": 3.0, "c": 1.0}) == {"a": 2.0, "b": 1.0, "c": 2.0}


def test_command_with_data(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "ecir2020-table2", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == {"cells": 64, "equal": 64, "explained": 0, "unexplained": 0, "not run": 0}
    assert len(found["tables"][0]["cells"]) == 64


@pytest.mark.parametrize("layout", ["table", "csv", "json", "md"])
def test_command_without_data(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SUREFOOT_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["reproduce", "--format", layout]) == 0
    out, err = capsys.readouterr()
    assert "surefoot data get trec-web-2012" in err
    assert "sigir2014-table1" in err
    if layout in ("table", "md"):
        assert "1094 cells: 181 equal to the printed digit, 2 explained, 0 unexplained, 911 not run" in out

"""Every published cell is equal, or differs for a reason that reaches far enough."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from surefoot_lab.reproduce import TABLES, reproduce
from surefoot_lab.reproduce.cells import CONSISTENT, PROVED, Cell, printed_cell, ranks
from surefoot_lab.reproduce.copies import COPIES, CopyFit, JointCheck

from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.scores import Scores

TREC = [name for name, table in TABLES.items() if table.waits_for_scores]


@pytest.fixture(scope="module")
def err20(data: Path) -> Scores:
    return read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")


@pytest.fixture(scope="module")
def rows(err20: Scores) -> list[dict[str, Any]]:
    return reproduce(err20).rows()


def test_no_cell_is_unexplained_unless_known(err20: Scores, rows: list[dict[str, Any]]) -> None:
    assert all(row["reason"] for row in rows if row["verdict"] != "equal")
    assert all(row["accepts"] >= 1 for row in rows if row["verdict"] == PROVED)
    assert reproduce(err20, ["sigir2016-table4"]).waiting == ()


def test_what_nobody_can_explain_is_counted(rows: list[dict[str, Any]]) -> None:
    known = Counter(row["table"] for row in rows if row["verdict"] == "unexplained")
    assert known == {"sigir2014-table3": 1, "sigir2016-table6": 54, "claims": 4, "arithmetic": 3}


def test_no_copy_of_the_data_explains_z_and_geo_at_alpha_0(rows: list[dict[str, Any]]) -> None:
    cells = [row for row in rows if row["table"] == "sigir2016-table6" and row["column"] in ("zrisk_a0", "georisk_a0")]
    assert Counter(row["verdict"] for row in cells) == {"unexplained": 17, "equal": 1}


@pytest.mark.parametrize(
    ("table", "cells"), [("ecir2020-table2", 64), ("sigir2016-table4", 84), ("sigir2016-table5", 72)]
)
def test_these_tables_are_equal_cell_by_cell(table: str, cells: int, rows: list[dict[str, Any]]) -> None:
    assert [row["verdict"] for row in rows if row["table"] == table] == ["equal"] * cells


@pytest.mark.parametrize("table", ["sigir2014-table1", "sigir2014-table2", "ecir2014-table1"])
def test_these_differ_only_in_two_runs(table: str, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["table"] == table and row["row"] not in ("DFalah121A", "irra12c") and row["verdict"] != "equal":
            assert row["reason"] == "the public scores have five decimals"


@pytest.fixture(scope="module")
def fit(err20: Scores) -> CopyFit:
    return CopyFit(err20)


def test_one_pair_of_copies_gives_all_cells_of_2014(err20: Scores, rows: list[dict[str, Any]]) -> None:
    """Recomputed with the copies, every cell of the five tables is equal, put right where it is swapped."""
    check = JointCheck(err20)
    assert (check.cells, check.met, check.public) == (122, 122, 10)
    assert check.constrained == 41  # of 100: the other directions are free
    assert check.tampered[1] == 5
    assert check.tampered[0] < check.cells
    cells, predicted, before, after = check.held_out
    assert (cells, predicted) == (54, 0)
    assert after < before / 4
    changed = np.flatnonzero((check.scores.values != err20.values).any(axis=1))
    assert {err20.systems[row] for row in changed} == set(COPIES)
    assert Counter(row["table"] for row in rows if row["verdict"] == CONSISTENT) == {
        "sigir2014-table1": 22, "sigir2014-table2": 13, "ecir2014-table1": 8, "ecir2014-table2": 27,
        "ecir2014-table3": 46, "sigir2016-table6": 8, "claims": 1,
    }  # fmt: skip


def test_the_fit_computes_what_the_tables_do(fit: CopyFit, rows: list[dict[str, Any]]) -> None:
    """The cells of the fit, with the public copies, are those of the tables."""
    known = {(row["table"], row["row"], row["column"]): row["recomputed"] for row in rows}
    for (file, row, column), value in zip(fit.keys, fit.values(fit.public[None])[0], strict=True):
        assert value == pytest.approx(known["-".join(file.split("-")[:2]), row, column], rel=1e-12)


@pytest.mark.parametrize("cell", [0, 30, 60, 90, 120])
def test_a_cell_that_is_moved_by_ten_units_is_noticed(cell: int, fit: CopyFit) -> None:
    moved = fit.published.copy()
    moved[cell] += 20 * fit.half[cell]
    assert (fit.miss(fit.solve(moved), moved) > 1).any()


def test_table_6_says_nothing_for_the_copies(rows: list[dict[str, Any]]) -> None:
    """T* is nearer to print without them, so it stays unexplained."""
    star = [row for row in rows if row["table"] == "sigir2016-table6" and "tstar" in row["column"]]
    assert {row["verdict"] for row in star} == {"equal", "unexplained"}
    assert sum(row["verdict"] == "equal" for row in star if row["column"] == "tstar_a0") == 3


def test_georisk_and_the_mean_prove_the_sign_of_z() -> None:
    rows = {row["row"].split()[1]: row for row in reproduce(tables=["arithmetic"]).rows()
            if row["column"] == "zrisk_a0, from georisk_a0"}  # fmt: skip
    assert len(rows) == 9
    misprints = [name for name, row in rows.items() if "misprint of the sign" in row["reason"]]
    assert misprints == ["ICTNET12ADR2"]
    assert rows["ICTNET12ADR2"]["recomputed"] == pytest.approx(0.2313, abs=1e-4)


def test_each_reason_says_how_much_it_accepts(err20: Scores) -> None:
    reasons = {row["reason"]: row for row in reproduce(err20, ["ecir2014-table3", "claims"]).reasons().rows()}
    swapped = reasons["the MEAN cells of srchvrs12c09 and DFalah121A are swapped in print"]
    assert (swapped["verdict"], swapped["accepts"]) == (PROVED, 1)


def test_swapped_cells_are_put_right_by_each_other(rows: list[dict[str, Any]]) -> None:
    swapped = {(row["row"], row["column"][:-3].rstrip("_")) for row in rows if row["table"] == "ecir2014-table3"
               and "are swapped in print" in row["reason"]}  # fmt: skip
    assert {row for row, _ in swapped} == {"indriCASP", "qutwb", "srchvrs12c09", "DFalah121A"}


@pytest.mark.parametrize(
    ("virtual", "swapped"),
    [("MEAN", {"srchvrs12c09": 0.2537, "DFalah121A": 0.2279}), ("MEDIAN", {"indriCASP": 0.2331, "qutwb": 0.1756})],
)
def test_the_means_behind_a_virtual_baseline_prove_a_swap(virtual: str, swapped: dict[str, float]) -> None:
    """Own mean minus gain is one number for seven rows, not for two, and for these too once they are swapped."""
    rows = reproduce(tables=["arithmetic"]).rows()
    means = {row["row"].split()[1]: row for row in rows if row["column"].startswith(f"mean of {virtual}")}
    for name, row in means.items():
        assert ("swapped" in row["reason"]) is (name in swapped)
        assert round(row["recomputed"], 4) == swapped.get(name, pytest.approx(float(row["published"]), abs=2e-4))
        assert row["verdict"] in ("equal", PROVED)


def test_one_constant_gives_every_cell_of_max() -> None:
    rows = [row for row in reproduce(tables=["arithmetic"]).rows() if row["column"].startswith("max_a")]
    assert len(rows) == 18
    assert all(row["verdict"] in ("equal", PROVED) for row in rows)
    constant = {round(means - row["recomputed"] / (6 if row["column"] == "max_a5" else 11), 8)
                for row in rows for means in [printed_mean(row["row"].split()[1])]}  # fmt: skip
    assert len(constant) == 1
    assert constant.pop() == pytest.approx(0.54485, abs=2e-5)


def printed_mean(system: str) -> float:
    if system == "indriCASP":
        return 0.1947
    return float(printed_cell("sigir2014-table1-standard-errors", system, "err20"))


def test_rows_of_one_learner_are_against_other_baselines() -> None:
    rows = [row for row in reproduce(tables=["arithmetic"]).rows() if row["row"].startswith("sigir2016-table7")]
    assert {row["row"].split()[2] for row in rows if row["verdict"] == "unexplained"} == {"T*-FARO"}
    assert [round(row["recomputed"], 4) for row in rows if row["verdict"] == "unexplained"] == [0.4647, 0.4682]


def test_a_printed_bound_is_a_bound(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if row["column"] == "paired_t_p_srchvrs12c00_vs_indriCASP")
    assert row["published"] == "< 0.0239"
    assert row["verdict"] == "equal"
    assert row["recomputed"] < 0.0239


def test_tampered_scores_are_not_explained_away(err20: Scores) -> None:
    """The reasons must not cover a wrong computation: shift one run, and cells turn unexplained."""
    values = err20.values.copy()
    values[err20.row("uogTrA44xi")] = np.clip(values[err20.row("uogTrA44xi")] + 0.1, 0, 1)
    tampered = Scores(values, err20.systems, err20.topics, err20.measure)
    assert reproduce(tampered, ["sigir2014-table2"]).new > 0
    assert reproduce(tampered, ["ecir2014-table3"]).new > 0


@pytest.mark.parametrize("system", ["DFalah121A", "irra12c", "srchvrs12c00", "qutwb", "ICTNET12ADR2"])
def test_even_where_print_and_data_differ_a_wrong_figure_is_noticed(system: str, err20: Scores) -> None:
    values = err20.values.copy()
    values[err20.row(system)] = values[err20.row(system)][::-1] ** 0.5
    tampered = Scores(values, err20.systems, err20.topics, err20.measure)
    table = "sigir2016-table6" if system == "srchvrs12c00" else "ecir2014-table1"
    rows = reproduce(tampered, [table]).rows()
    assert any(row["verdict"] == "unexplained" and not row["reason"] and row["row"] == system for row in rows)


def test_without_scores_the_tables_that_need_none_are_done() -> None:
    result = reproduce()
    assert list(result.waiting) == TREC
    assert result.new == 0
    assert set(result.tables()) == set(TABLES)
    assert {row["verdict"] for row in result.rows() if row["table"] in TREC} == {"not run"}


def test_learned_tables_wait_for_an_experiment_but_their_ratios_do_not() -> None:
    rows = reproduce(tables=["sigir2014-table3", "sigir2016-table7"]).rows()
    for row in rows:
        if row["verdict"] == "not run":
            assert "MSLR-WEB10K" in row["reason"]
    ratios = [row for row in rows if row["row"].startswith("loss_over_win")]
    assert len(ratios) == 13
    assert [row["row"] for row in ratios if row["verdict"] != "equal"] == ["loss_over_win faro"]


def published_csv(folder: Path, plan: str, lines: str) -> Path:
    signature = f"experiment-published|plan={plan}|surefoot=0"
    rows = [f"{line},{signature}" for line in lines.splitlines()]
    header = "compared_to,learner,alpha,measure,published,ours,difference,signature"
    (folder / "published.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder


def test_an_experiment_fills_the_tables_of_learned_rankers(tmp_path: Path) -> None:
    lines = """BM25,BM25,0.0,ndcg@10,0.309,0.3087,-0.0003
BM25,LambdaMART,0.0,ndcg@10,0.480,0.4804,0.0004
BM25,U-CRO,5.0,losses,1992,1990.0,-2.0"""
    result = reproduce(tables=["sigir2014-table3"], experiments=[published_csv(tmp_path, "sigir2014", lines)])
    found = {(row["row"], row["column"]): row for row in result.rows()}
    assert found["ndcg10 urisk", "a0"]["verdict"] == "equal"
    assert found["loss urisk", "a5"]["verdict"] == "unexplained"
    assert found["loss urisk", "a5"]["recomputed"] == 1990.0
    assert found["loss urisk", "a1"]["verdict"] == "not run"


def test_the_claims_of_an_experiment_count_if_its_data_are_the_papers(tmp_path: Path, err20: Scores) -> None:
    (tmp_path / "ucro-claims.csv").write_text(
        "claim,published,ours,note,signature\n"
        "alpha_limit_mslr,27.9,26.5,,sigir2012-claims|data=mslr-web10k\n"
        "mslr_bm25_ndcg10,0.30869,0.4,published of MSLR-WEB10K; here demo,sigir2012-claims|data=demo\n"
    )
    found = {row["column"]: row for row in reproduce(err20, ["claims"], experiments=[tmp_path]).rows()
             if row["row"] == "sigir2012"}  # fmt: skip
    assert found["alpha_limit_mslr"]["recomputed"] == 26.5
    assert found["alpha_limit_mslr"]["verdict"] == "unexplained"
    assert found["mslr_bm25_ndcg10"]["verdict"] == "not run"


def test_a_folder_without_published_values_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "sigir2014-table3", "--experiment", str(tmp_path)]) == 2
    assert "published.csv: no such file; an experiment writes it if" in capsys.readouterr().err


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
    assert cell.prove("rounding", 0.34, 0.36).verdict == "unexplained"
    assert cell.prove("another copy", 0.25, 0.35).verdict == PROVED
    assert cell.prove("one", 0, 1).prove("two", 0, 1).reason == "one"
    assert cell.prove("misprint", 0.34, 0.36, of="0.35").verdict == PROVED
    assert cell.prove("misprint", 0.34, 0.36, of="0.30").verdict == "unexplained"
    assert Cell("r", "c", "0.30", 0.30).prove("needless", 0, 1).reason == ""
    assert cell.prove("another copy", 0.25, 0.35).accepts == 11
    assert cell.remark("nobody knows").verdict == "unexplained"
    assert Cell("r", "c", "0.30", 0.30).remark("needless").verdict == "equal"


def test_ranks_share_the_better_place() -> None:
    assert ranks({"a": 1.0, "b": 3.0, "c": 1.0}) == {"a": 2.0, "b": 1.0, "c": 2.0}


def test_command_with_data(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "ecir2020-table2", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == {"cells": 64, "equal": 64, PROVED: 0, CONSISTENT: 0, "unexplained": 0, "not run": 0}
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
        assert "cells: 441 equal to the printed digit, 77 proved, 0 consistent with one copy, 4 unexplained" in out

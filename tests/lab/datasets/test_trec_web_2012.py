"""Names for the columns of the TREC 2012 score files."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.datasets.trec_web_2012 import (
    PRINTED,
    match,
    named_scores,
    read_columns,
    read_means,
    write_tables,
)

from surefoot.errors import InputError
from surefoot.io.tables import read_scores
from surefoot.scores import FloatArray

Columns = dict[str, FloatArray]


def columns_of(*runs: list[float]) -> Columns:
    return {measure: np.array(runs) for measure in PRINTED}


def printed_of(mean: str) -> dict[str, str]:
    return dict.fromkeys(PRINTED.values(), mean)


def test_the_tables_are_made_again_to_the_byte(data: Path, tmp_path: Path) -> None:
    public = data / "trec-web-2012"
    shutil.copytree(public / "raw", tmp_path / "raw")
    for name in ("indriCASP.run.gz", "qrels.adhoc.txt"):
        shutil.copyfile(public / name, tmp_path / name)
    notes = write_tables(tmp_path)
    for table in ("err20.csv", "ndcg20.csv"):
        assert (tmp_path / table).read_bytes() == (public / table).read_bytes()
    assert notes == (
        "DFalah120A and DFalah120D have the same means in all measures, and the same scores on every topic",
        "DFalah121A and DFalah121D have the same means in all measures, and the same scores on every topic",
    )


def test_the_tables_are_read_as_the_scores_that_were_written(data: Path) -> None:
    public = data / "trec-web-2012"
    made = named_scores(public / "raw", public / "indriCASP.run.gz", public / "qrels.adhoc.txt")
    stored = read_scores(public / "err20.csv")
    assert made["err20"].systems == stored.systems
    np.testing.assert_array_equal(made["err20"].values, stored.values)
    assert made["ndcg20"].measure == "nDCG(dcg='exp-log2')@20"


def test_a_column_is_named_by_its_means() -> None:
    names, notes = match(
        columns_of([0.1, 0.3], [0.5, 0.7]), {"high": printed_of("0.6000"), "low": printed_of("0.2000")}
    )
    assert names == ["low", "high"]
    assert notes == ()


def test_one_other_mean_is_enough_to_tell_runs_apart() -> None:
    columns = columns_of([0.1, 0.3], [0.1, 0.3])
    columns["rr"] = np.array([[0.5, 0.5], [1.0, 1.0]])
    printed = {
        "x": {**printed_of("0.2000"), "recip_rank": "1.0000"},
        "y": {**printed_of("0.2000"), "recip_rank": "0.5000"},
    }
    assert match(columns, printed) == (["y", "x"], ())


def test_runs_with_equal_means_and_other_scores_are_told() -> None:
    printed = {"b": printed_of("0.2000"), "A": printed_of("0.2000")}
    names, notes = match(columns_of([0.1, 0.3], [0.3, 0.1]), printed)
    assert names == ["A", "b"]
    assert notes == (
        "A and b have the same means in all measures, but not the same scores: their columns may be swapped",
    )


def test_a_column_that_fits_no_run_is_refused() -> None:
    with pytest.raises(InputError, match="columns 1 fit the means of no run; fetch both again"):
        match(columns_of([0.1, 0.3], [0.9, 0.9]), {"low": printed_of("0.2000")})


def test_a_score_file_of_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "web2012_ap.csv"
    path.write_text('"sys1","sys2"\n0.1,0.2\n')
    with pytest.raises(InputError, match="expected a row for each of 50 topics, found 1"):
        read_columns(path)
    path.write_text('"sys1","sys2"\n0.1,x\n')
    with pytest.raises(InputError, match="expected numbers"):
        read_columns(path)


def test_a_results_page_of_another_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.md"
    path.write_text("# Results\n")
    with pytest.raises(InputError, match="no means of any run"):
        read_means(path)
    path.write_text("#### run1 \n\terr\t\tall\t0.2\n")
    with pytest.raises(InputError, match="no means of run1 in map"):
        read_means(path)

"""Value functions and fences, as users type them."""

import json
from pathlib import Path
from typing import Any

import pytest

from surefoot.cli import main


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "scores.csv"
    path.write_text("topic,old,new\nq1,0.1,0.3\nq2,0.5,0.2\nq3,0.4,0.3\nq4,0.2,0.25\n")
    return str(path)


def found(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*words, "--format", "json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_fences_are_taken_as_given(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "--scores", table, "--baseline", "old", "--value", "monotone", "--fences", "-0.2", "0.3"]
    assert "value=monotone(-0.20000,0.30000)" in found(words, capsys)["signature"]


def test_linear_values_have_no_fences(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--scores", table, "--baseline", "old", "--fences", "-0.2", "0.3"]) == 2
    assert "--fences are for --value smooth or monotone" in capsys.readouterr().err


def test_an_unknown_value_function(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--scores", table, "--baseline", "old", "--value", "tabel:values.csv"]) == 2
    said = "--value must be one of linear, smooth, monotone, table:FILE; got 'tabel:values.csv'"
    assert said in capsys.readouterr().err


def test_values_of_a_table(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = tmp_path / "values.csv"
    values.write_text("difference,value\n-1,-1\n0,0\n1,1\n")
    words = ["evaluate", "--scores", table, "--baseline", "old", "--alpha", "5", "--columns", "system,urisk"]
    rows = []
    for value in ("linear", f"table:{values}"):
        assert main([*words, "--value", value]) == 0
        rows.append(capsys.readouterr().out.split("\n\n")[0])
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-1,-1\n0,x\n", "values.csv:2: expected two numbers, difference,value; found 0,x"),
        ("-1,-1\n0,0.5\n1,1\n", "must be 0 at 0; it is 0.5"),
        ("0,0\n-1,-1\n", "differences that increase"),
        ("", "differences that increase"),
    ],
)
def test_tables_of_values_that_are_refused(
    text: str, message: str, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "values.csv").write_text(text)
    words = ["evaluate", "--scores", table, "--baseline", "old", "--value", f"table:{tmp_path / 'values.csv'}"]
    assert main(words) == 2
    assert message in capsys.readouterr().err

import math
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from surefoot import SurefootError, __version__
from surefoot.results import Highlights, Result, signature


def test_rows_are_plain_python():
    result = Result("s", {"system": np.array(["a", "b"]), "p": np.array([math.nan, 0.5]), "wins": np.array([1, 2])})
    rows = result.rows()
    assert rows == [{"system": "a", "p": None, "wins": 1}, {"system": "b", "p": 0.5, "wins": 2}]
    assert [type(value) for value in rows[1].values()] == [str, float, int]


def test_infinite_is_none_in_a_row():
    assert Result("s", {"ratio": [math.inf, -math.inf, 1.0]}).rows() == [
        {"ratio": None},
        {"ratio": None},
        {"ratio": 1.0},
    ]


def test_length():
    assert len(Result("s", {"x": [1, 2, 3]})) == 3
    assert len(Result("s", {})) == 0


def test_to_frame():
    frame = Result("s", {"system": ["a", "b"], "mean": [0.1, 0.2]}).to_frame()
    assert frame.columns == ["system", "mean"]
    assert frame["mean"].to_list() == [0.1, 0.2]


def test_str_is_the_table():
    text = str(Result("the|signature", {"system": ["a"], "mean": [0.25]}, ("a note",)))
    assert text.splitlines() == ["system    mean", "a       0.2500", "", "note: a note", "the|signature"]


def test_signature_fields():
    text = signature("urisk", measure="AP", alpha=[0.0, 2.5], baseline=None, topics=50, minus=True)
    assert text == f"urisk|measure=AP|alpha=0,2.5|topics=50|minus=True|surefoot={__version__}"


def test_other_forms_of_a_result():
    result = Result("demo|a=1", {"system": ["<b>"], "p": [float("nan")]}, notes=("a & b",))
    assert result.to_pandas().columns.tolist() == ["system", "p"]
    assert "$<$b$>$ & --" in result.to_latex()
    assert "| &#60;b&#62; | – |" in result.to_markdown()
    assert result.to_markdown(["p"]).startswith("| p |")
    page = result._repr_html_()
    assert '<td style="text-align:left">&lt;b&gt;</td><td style="text-align:right">–</td>' in page
    assert "<p>a &amp; b</p>" in page
    assert "<code>demo|a=1</code>" in page


def test_a_long_result_is_cut_in_a_notebook_alone():
    result = Result("demo", {"n": list(range(100))})
    assert result._repr_html_().count("<tr>") == 62
    assert "… 40 more rows" in result._repr_html_()
    assert str(result).count("\n") > 100


def test_every_kind_of_result_has_a_short_repr():
    @dataclass(frozen=True, eq=False, kw_only=True)
    class Kind(Result):
        matrix: np.ndarray

    result = Kind(signature="kind|a=1", columns={"x": [1]}, matrix=np.zeros((50, 50)))
    assert repr(result) == "Kind(1 row × 1 column of kind: x)"
    assert list(result) == [{"x": 1}]


def test_an_unknown_column_is_a_key_error_that_names_the_nearest():
    with pytest.raises(KeyError) as error:
        Result("demo", {"urisk": [1.0], "mean": [0.5]})["ursik"]
    assert str(error.value) == "no column 'ursik' (did you mean urisk?); there are urisk, mean"


def test_to_pandas_without_pandas_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SurefootError, match="pandas is not installed; pip install pandas"):
        Result("demo", {"x": [1]}).to_pandas()


def test_a_selection_keeps_what_was_stressed_in_the_whole():
    @dataclass(frozen=True, eq=False)
    class Kind(Result):
        def highlights(self):
            return Highlights({"mean": self["p"] < 0.05}, {}, "")

    result = Kind("kind", {"mean": [0.5, 0.4], "p": np.array([0.01, 0.5])})
    assert r"\textbf{0.5000} \\" in result.to_latex(["mean"])
    assert "p" not in result.only(["mean"]).columns


def test_latex_floats():
    words = Result("demo", {"a": [1.0]}).to_latex(caption=r"U_Risk of 5 % & $x_1$, \% as in \ref{tab_a}.")
    assert r"\caption{U\_Risk of 5 \% \& $x_1$, \% as in \ref{tab_a}.}" in words
    text = Result("demo", {"a_b": [1.0]}).to_latex(caption="The $U$ of 5\\,\\%.", label="tab:u")
    assert text.splitlines()[:5] == [
        r"\begin{table}",
        r"\centering",
        r"\caption{The $U$ of 5\,\%.}",
        r"\label{tab:u}",
        r"\begin{tabular}{r}",
    ]
    assert r"a\_b \\" in text
    assert text.endswith("% demo\n\\end{table}\n")

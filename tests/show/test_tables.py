import csv
import io
import json
import math
import os
import stat
from dataclasses import dataclass

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.io.atomic import write_text
from surefoot.results import Result
from surefoot.show.tables import FORMATS, print_result, render

SIGNATURE = "evaluate|measure=ERR@20|baseline=bm25|alpha=0,5|topics=50|surefoot=0.1"
NUMBERS = ("mean", "urisk", "frisk", "freward", "trisk", "se", "zrisk", "georisk")
RESULT = Result(
    SIGNATURE,
    {
        "system": np.array(["bm25", "dense_v2"]),
        "alpha": np.array([0.0, 2.5]),
        "urisk": np.array([-0.00001, -1 / 3]),
        "p": np.array([math.nan, 0.0401]),
        "p_holm": np.array([0.0001, 1.0]),
        "ratio": np.array([math.inf, 2.0]),
        "wins": np.array([3, 12]),
        "significant": np.array([True, False]),
    },
    ("2 missing scores filled with 0", "GeoRisk is not consistent"),
)


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def wide_result():
    systems = ["a", "a_system_with_a_long_name", "uogTrA44xi"]
    numbers = {name: np.array([-12.3456, 0.5, 1.0]) for name in NUMBERS}
    columns = {"system": systems, "baseline": ["bm25"] * 3, "alpha": [0.0, 1.0, 5.0], **numbers, "wins": [1, 22, 333]}
    return Result(SIGNATURE, columns, ("a note that is long enough not to fit into a single line of sixty columns",))


def test_table():
    assert render(RESULT).splitlines() == [
        "system    alpha    urisk      p  p_holm   ratio  wins  significant",
        "bm25          0   0.0000      –  <0.001       –     3          yes",
        "dense_v2    2.5  -0.3333  0.040   1.000  2.0000    12           no",
        "",
        "note: 2 missing scores filled with 0",
        "note: GeoRisk is not consistent",
        SIGNATURE,
    ]


def test_csv():
    assert render(RESULT, "csv").splitlines() == [
        "system,alpha,urisk,p,p_holm,ratio,wins,significant,signature",
        f'bm25,0,-1e-05,,0.0001,,3,true,"{SIGNATURE}"',
        f'dense_v2,2.5,-0.3333333333333333,0.0401,1.0,2.0,12,false,"{SIGNATURE}"',
    ]


def test_json():
    parsed = json.loads(render(RESULT, "json"))
    assert list(parsed) == ["signature", "rows", "notes"]
    assert parsed["signature"] == SIGNATURE
    assert parsed["notes"] == list(RESULT.notes)
    assert parsed["rows"] == RESULT.rows()
    assert parsed["rows"][0]["p"] is parsed["rows"][0]["ratio"] is None


def test_json_of_a_result_that_carries_more():
    @dataclass(frozen=True)
    class Tested(Result):
        def extra(self):
            return {
                "friedman": {"p": np.float64(0.5), "x": [math.inf, np.int64(2)]},
                "ranks": np.array([1.0, math.nan]),
            }

    parsed = json.loads(render(Tested("s", {"a": [1]}), "json"))
    assert parsed == {
        "signature": "s",
        "friedman": {"p": 0.5, "x": [None, 2]},
        "ranks": [1.0, None],
        "rows": [{"a": 1}],
        "notes": [],
    }


def test_markdown():
    result = Result(SIGNATURE, {"system": ["a|b", "c*\nd"], "mean": [0.5, -0.25]}, ("a note",))
    assert render(result, "md").splitlines() == [
        "| system | mean |",
        "| :--- | ---: |",
        "| a&#124;b | 0.5000 |",
        "| c&#42; d | -0.2500 |",
        "",
        "- a note",
        "",
        f"`{SIGNATURE}`",
    ]


def test_what_spreadsheets_take_for_formulas_and_terminals_for_commands_is_inert():
    result = Result(SIGNATURE, {"system": ["=1+1", "-a", "a\x1b[2J\x9b1m"], "mean": [-0.5, 1.5, 2.5]})
    rows = [line.split(",")[:2] for line in render(result, "csv").splitlines()[1:3]]
    assert rows == [["'=1+1", "-0.5"], ["'-a", "1.5"]]
    for format in ("table", "md", "latex"):
        assert not {"\x1b", "\x9b"} & set(render(result, format))


def test_latex():
    result = Result(
        "s|alpha=5", {"the_system": [r"a_b&c%d#e$f{g}h~i^j\k"], "mean": [-0.25], "p": [math.nan]}, ("50% so",)
    )
    assert render(result, "latex").splitlines() == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"the\_system & mean & p \\",
        r"\midrule",
        r"a\_b\&c\%d\#e\$f\{g\}h\textasciitilde{}i\textasciicircum{}j\textbackslash{}k & $-$0.2500 & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% 50% so",
        "% s|alpha=5",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_a_narrow_table_loses_nothing(wide_result, width):
    text = render(wide_result, width=width)
    table, _, caption = text.rpartition("\n\n")
    assert max(map(len, table.splitlines())) <= width
    assert "…" not in text
    assert table.count("-12.3456") == len(NUMBERS)
    assert all(name in table.split() for name in (*NUMBERS, "alpha", "wins", "baseline"))
    assert caption.splitlines()[-1] == SIGNATURE


def test_panels_repeat_the_labels_and_constants_go_above(wide_result):
    lines = render(wide_result, width=60).splitlines()
    assert lines[0] == "baseline bm25"
    heads = [line for line in lines if line.startswith("system")]
    assert len(heads) == 3
    assert all(line.split()[:2] == ["system", "alpha"] for line in heads)


def test_long_names_stay_whole_where_there_is_room(wide_result):
    assert "a_system_with_a_long_name" in render(wide_result, width=140)


def test_the_width_is_that_of_columns(wide_result, monkeypatch):
    natural = render(wide_result)
    monkeypatch.setenv("COLUMNS", "60")
    assert render(wide_result) == render(wide_result, width=60) != natural


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colour_only_on_a_terminal(monkeypatch):
    def printed(stream):
        print_result(RESULT, stream=stream)
        return stream.getvalue()

    assert "\x1b[" not in printed(io.StringIO())
    assert "\x1b[" in printed(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in printed(Terminal())


def test_print_result_to_standard_output(capsys):
    print_result(RESULT, "csv")
    assert capsys.readouterr().out == render(RESULT, "csv")


@pytest.mark.parametrize("format", FORMATS)
def test_no_rows(format):
    assert render(Result("s", {"system": [], "mean": []}), format)


def test_unknown_format():
    with pytest.raises(SurefootError, match="format must be one of table, csv, json, md, latex; got 'xml'"):
        render(RESULT, "xml")


@given(
    st.lists(st.tuples(st.text(), st.floats()), min_size=1, max_size=4),
    st.sampled_from(list(FORMATS)),
    st.integers(1, 200),
)
def test_any_name_and_number_can_be_shown(cells, format, width):
    names, numbers = zip(*cells, strict=True)
    assert render(Result("s", {"system": names, "x": numbers}), format, width=width).endswith("\n")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_csv_keeps_every_digit(numbers):
    rows = list(csv.DictReader(io.StringIO(render(Result("s", {"x": np.array(numbers)}), "csv"))))
    assert [float(row["x"]) for row in rows] == numbers


def test_csv_is_read_back():
    frame = polars.read_csv(render(RESULT, "csv").encode())
    assert frame["significant"].to_list() == [True, False]
    assert frame["p"].to_list() == [None, 0.0401]


def test_write_text(tmp_path):
    path = tmp_path / "out.csv"
    write_text(path, "a–b\n")
    path.chmod(0o640)
    write_text(path, "c\r\n")
    assert path.read_bytes() == b"c\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


def test_write_text_follows_links(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "x")
    assert (tmp_path / "real").read_text() == "x"
    assert (tmp_path / "link").is_symlink()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    write_text(path, "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(SurefootError) as error:
        write_text(path, "new")
    assert str(error.value) == f"{path}: can't be written: No space left on device"
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


def test_write_text_into_nowhere(tmp_path):
    with pytest.raises(SurefootError, match="can't be written: No such file or directory"):
        write_text(tmp_path / "nowhere" / "out.csv", "x")
    with pytest.raises(SurefootError, match="can't be written: Is a directory"):
        write_text(tmp_path, "x")


def test_write_text_to_a_device():
    write_text(os.devnull, "x")


HOSTILE = "\x1b[2J\x9b=1"


@pytest.mark.parametrize("format", ["csv", "json", "md", "latex"])
def test_names_of_rows_and_columns_do_not_steer_a_terminal(format):
    result = Result("x|y", {"system": [HOSTILE], HOSTILE: [0.5]})
    out = Terminal()
    print_result(result, format, out)
    assert not set(out.getvalue()) & {"\x1b", "\x9b"}


def test_names_of_columns_are_inert_in_tables_and_spreadsheets():
    result = Result("x|y", {"system": ["a"], HOSTILE: [0.5], "=1+1": [1.0]})
    assert not set(render(result, "table")) & {"\x1b", "\x9b"}
    assert ",'=1+1," in render(result, "csv")


@pytest.mark.parametrize("width", range(12, 60))
def test_no_line_of_a_narrow_table_is_a_command_of_github(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    names = ["a model with ::error::x in it", "name-of-one-word::error::x", "日本::set-output name=a::b"]
    result = Result(
        SIGNATURE, {"system": names, "p": np.array([0.1, 0.2, 0.3])}, ("a note on ::warning::x and ::add-mask::y",)
    )
    lines = render(result, width=width).splitlines()
    assert not [line for line in lines if line.strip().startswith("::")]


@pytest.mark.parametrize("width", range(20, 50))
def test_a_number_and_its_percent_sign_stay_on_one_line(width):
    note = "intervals hold in 95 % of cases, a level of 5 % and 12.5 % of the queries"
    lines = render(Result(SIGNATURE, {"system": ["a"]}, (note,)), width=width).splitlines()
    assert not [line for line in lines if line.lstrip().startswith("%")]
    assert " ".join("\n".join(lines[3:-1]).split()) == f"note: {note}"

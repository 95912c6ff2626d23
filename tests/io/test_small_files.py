"""Errors in TOML files and small tables name the line."""

from pathlib import Path

import pytest

from surefoot.errors import InputError
from surefoot.io.small_files import read_map, read_segments, read_toml
from surefoot.release_gate.config import read_config


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[gate]\nalpha = 1\nmax-loses = 1\n", 3),
        ('# alpha = 1\n\n[gate]\n\n  "alpha" = true\n', 5),
        ("[gate]\nalpha = 1\n[gates]\n", 3),
        ("\ngate = 1\n", 2),
        ("[gate]\nalpha = = 1\n", 2),
        ("[gate]\r\nalpha = 'high'\r\n", 2),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "a.toml").write_bytes(text.encode())
    with pytest.raises(InputError) as caught:
        read_config(tmp_path / "a.toml")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{tmp_path / 'a.toml'}:{line}: ")


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(InputError, match="not valid TOML: not UTF-8 text"):
        read_toml(tmp_path / "a.toml")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfname = 'a'")
    assert read_toml(tmp_path / "a.toml").content == {"name": "a"}


def test_a_header_of_one_column_is_none(tmp_path: Path) -> None:
    file = tmp_path / "map.csv"
    file.write_text("system\nnew,old\n")
    with pytest.raises(InputError, match=":1: expected system,baseline; found 1 column"):
        read_map(file, "baseline")
    file.write_text("topic\nq1,en\n")
    with pytest.raises(InputError, match=":1: expected topic,segment; found 1 column"):
        read_segments(file)

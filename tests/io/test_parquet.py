"""Parquet files that are cut or overwritten: one line, by any writer."""

import io

import polars
import pytest

import surefoot
from surefoot.errors import InputError

FRAME = polars.DataFrame({
    "topic": [f"q{number}" for number in range(300)],
    "old": [number / 300 for number in range(300)],
    "new": [number * 7 % 300 / 300 for number in range(300)],
})  # fmt: skip
WRITERS = ["zstd", "snappy", "lz4", "gzip", "uncompressed"]


def by_polars(compression):
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer, compression=compression, row_group_size=100, data_page_size=512)
    return buffer.getvalue()


@pytest.mark.parametrize("options", [
    {}, {"write_page_checksum": True}, {"data_page_version": "2.0", "write_page_checksum": True},
    {"compression": "none", "use_dictionary": False}, {"version": "1.0", "write_statistics": False},
])  # fmt: skip
def test_files_of_pyarrow(options, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(FRAME.to_arrow(), tmp_path / "a.parquet", row_group_size=100, data_page_size=512, **options)
    assert surefoot.read_scores(tmp_path / "a.parquet")["new"].tolist() == FRAME["new"].to_list()


def test_an_empty_group_of_rows_is_no_damage(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = FRAME.to_arrow()
    with parquet.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for part in (table[:100], table[:0], table[100:]):
            writer.write_table(part)
    assert surefoot.read_scores(tmp_path / "a.parquet").topics == tuple(FRAME["topic"])


EDITS = {
    "cut": lambda data: data[:-1],
    "a footer longer than the file": lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1",
    "an overwritten footer": lambda data: data[:-9] + b"\xff" + data[-8:],
    "without some pages": lambda data: data[:100] + data[600:],
    "a page of 2 GB": lambda data: data[:5] + b"\x15\xfe\xff\xff\xff\x0f" + data[6:],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("compression", WRITERS)
def test_a_damaged_file_is_refused_in_one_line(compression, edit, tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(edit(by_polars(compression)))
    for read in (surefoot.read_scores, surefoot.analysis.evaluate_parquet):
        with pytest.raises(InputError, match=r"a.parquet: damaged Parquet file \(.*\); fetch it again$") as error:
            read(path)
        assert "\n" not in str(error.value)

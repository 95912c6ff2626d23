"""Damaged Parquet files: with checksums all are found, without them those that are cut or contradict themselves."""

import io
import random

import polars
import pytest

import surefoot
from surefoot.errors import InputError
from surefoot.io.parquet_pages import validate_pages

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


def by_pyarrow(**options):
    parquet = pytest.importorskip("pyarrow.parquet")
    buffer = io.BytesIO()
    parquet.write_table(FRAME.to_arrow(), buffer, row_group_size=100, data_page_size=512, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("compression", WRITERS)
def test_files_of_polars_are_valid(compression):
    validate_pages("a.parquet", by_polars(compression))


@pytest.mark.parametrize("options", [
    {}, {"write_page_checksum": True}, {"data_page_version": "2.0", "write_page_checksum": True},
    {"compression": "none", "use_dictionary": False}, {"version": "1.0", "write_statistics": False},
])  # fmt: skip
def test_files_of_pyarrow_are_valid(options):
    validate_pages("a.parquet", by_pyarrow(**options))


def test_an_empty_group_of_rows_is_no_damage(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = FRAME.to_arrow()
    with parquet.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        for part in (table[:100], table[:0], table[100:]):
            writer.write_table(part)
    assert surefoot.read_scores(tmp_path / "a.parquet").topics == tuple(FRAME["topic"])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_no_bit_of_a_page_with_a_checksum_flips_unseen(version, tmp_path):
    data = by_pyarrow(write_page_checksum=True, data_page_version=version)
    path = tmp_path / "scores.parquet"
    path.write_bytes(data)
    right = surefoot.read_scores(path).to_dict()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    rng, refused = random.Random(0), []
    for _ in range(300):
        flipped = bytearray(data)
        flipped[rng.randrange(footer)] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        try:
            assert surefoot.read_scores(path).to_dict() == right
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 250
    assert not any("\n" in message for message in refused)


def test_the_streaming_reader_verifies_checksums_too(tmp_path):
    data = bytearray(by_pyarrow(write_page_checksum=True))
    path = tmp_path / "scores.parquet"
    path.write_bytes(data)
    assert surefoot.evaluate_parquet(path, "old")
    data[120] ^= 1  # within the first page
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"scores.parquet: damaged Parquet file \(a page does not have its checksum\)"):
        surefoot.evaluate_parquet(path, "old")


@pytest.mark.parametrize(("edit", "message"), [
    (lambda data: data[:-1], "it does not end as one"),
    (lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1", "it is shorter than its metadata"),
    (lambda data: data[:-9] + b"\xff" + data[-8:], "its metadata can't be read"),
    (lambda data: data[:100] + data[600:], "metadata can't be read|longer than its column|outside of it"),
])  # fmt: skip
@pytest.mark.parametrize("compression", WRITERS)
def test_what_is_cut_or_overwritten_is_refused(compression, edit, message, tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(edit(by_polars(compression)))
    with pytest.raises(InputError, match=rf"a.parquet: damaged Parquet file \(.*({message}).*\); fetch it again"):
        surefoot.read_scores(path)


def test_the_sizes_that_are_allocated_are_validated():
    """A page that claims to be 2 GB is refused before anything is allocated for it."""
    data = by_polars("zstd")
    page = bytes(data[4:8])
    claim = data[:5] + b"\x15\xfe\xff\xff\xff\x0f" + data[6:]
    assert page[0] == 0x15
    with pytest.raises(InputError, match="damaged Parquet file"):
        validate_pages("a.parquet", claim)

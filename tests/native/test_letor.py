"""The LETOR kernels refuse offsets and counts without room, and give the same bits at every level."""

import numpy as np
import pytest

from surefoot.native import kernel
from tests.native.levels import RUNNABLE

ODD = " 9:-.5e2"
TEXT = "".join(
    f"{row % 3} qid:{row // 5}{'' if row % 4 else ODD} 1:{row / 7} 2:-{row}.25 7:1e-3 {row + 11}:NULL#d{row}\n"
    for row in range(60)
).encode()
DATA = np.frombuffer(TEXT, np.uint8)
ROWS = (np.float32, np.int64, np.int64, np.int32, np.int64, np.int32)
BLOCKS = (np.int64, np.int32, np.int64)


def parse(rows: int = 60, blocks: int = 12, at: int = 0, end: int = len(TEXT), level: str | None = None):
    columns = tuple(np.empty(rows, dtype) for dtype in ROWS)
    runs, found = tuple(np.empty(blocks, dtype) for dtype in BLOCKS), np.empty(5, np.int64)
    assert kernel("parse_letor", level)(DATA[:end], at, columns, runs, found) == 0
    return columns, runs, found


def read(level: str | None = None, **changed: object):
    labels, start, stop, pairs, document, size = parse(level=level)[0]
    arguments = {
        "text": DATA, "row": 0, "end": 60, "labels": labels, "start": start, "stop": stop, "pairs": pairs,
        "document": document, "document_size": size, "target": np.arange(60),
        "first": 1, "matrix": np.zeros((60, 70), np.float32), "bounds": np.empty(0, np.int64),
        "indices": np.empty(5, np.int32), "values": np.empty(5, np.float32), "open": np.empty((300, 2), np.int64),
        "found": np.empty(5, np.int64),
    } | changed  # fmt: skip
    assert kernel("read_features", level)(*arguments.values()) == 0
    return arguments["matrix"], arguments["found"]


def test_features_are_in_their_cells():
    matrix, found = read()
    assert found.tolist()[0] == 60
    assert found.tolist()[2:4] == [0, 69]
    for row, line in enumerate(TEXT.decode().splitlines()):
        expected = np.zeros(70)
        for word in line.partition("#")[0].split()[2:]:
            feature, _, value = word.partition(":")
            expected[int(feature) - 1] = float(value.replace("NULL", "nan"))
        known = ~np.isnan(matrix[row])
        np.testing.assert_array_equal(matrix[row, known], expected[known].astype(np.float32))
        assert not known[row + 10]


def test_every_level_gives_the_same_bits():
    rows = {b"".join(column.tobytes() for part in parse(level=level) for column in part) for level in RUNNABLE}
    assert len(rows) == 1
    assert len({read(level)[0].tobytes() for level in RUNNABLE}) == 1


@pytest.mark.parametrize("changed", [{"rows": 59}, {"blocks": 11}, {"at": -1}, {"at": 5, "end": 4}])
def test_lines_without_room_are_refused(changed):
    with pytest.raises(IndexError):
        parse(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"row": -1},
        {"end": 61},
        {"first": -1},
        {"first": 1 << 40},
        {"start": np.full(60, -1)},
        {"stop": np.full(60, len(TEXT) + 1)},
        {"pairs": np.ones(60, np.int32)},
        {"pairs": np.full(60, -1, np.int32)},
        {"target": np.arange(60) + 1},
        {"target": np.arange(60) - 1},
        {"bounds": np.full(61, 1)},
        {"bounds": np.full(61, -1)},
        {"bounds": np.zeros(3, np.int64)},
    ],
)
def test_features_without_room_are_refused(changed):
    with pytest.raises(IndexError):
        read(**changed)

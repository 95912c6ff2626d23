"""The binding of the native library: what it refuses, and that it is safe to pickle, thread and fork."""

import copy
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from textwrap import indent

import numpy as np
import pytest

from surefoot import native
from surefoot.native import kernel

count_draws = kernel("count_draws")
CALL = """
import numpy as np
from surefoot.native import kernel
weights = np.zeros((1, 2))
kernel("count_draws")(np.zeros((1, 2), np.int32), weights)
print(weights.tolist())
"""
FORMULA = ("sum", "linear", "log2", "ideal", 10, 1.0, 0.8, 1.0)


def counted(topics: int = 4) -> list[float]:
    weights = np.zeros((1, topics))
    count_draws(np.arange(topics, dtype=np.int32)[np.newaxis] // 2, weights)
    return weights[0].tolist()


def strided(shape: tuple[int, int]) -> np.ndarray:
    return np.zeros((shape[0], 2 * shape[1]))[:, ::2]


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def test_arguments_are_packed_in_the_order_of_the_declaration():
    grades, judged, value = np.array([2.0, 0.0, 1.0]), np.array([2.0, 1.0]), np.zeros(1)
    assert kernel("measure_ranking")(FORMULA, grades, judged, value) == 0
    assert value[0] == pytest.approx((2 + 1 / np.log2(4)) / (2 + 1 / np.log2(3)), rel=1e-15)


DRAWN = np.zeros((3, 4), np.int32)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((DRAWN,), "count_draws: takes 2 arguments (drawn, weights)"),
        ((DRAWN, np.zeros((3, 4)), 1), "count_draws: takes 2 arguments (drawn, weights)"),
        (
            (DRAWN, np.zeros((3, 5))),
            "count_draws: sizes differ: drawn [resamples, topics] = [3, 4], weights [resamples, topics] = [3, 5]",
        ),
        (
            (DRAWN.astype(np.int64), np.zeros((3, 4))),
            "count_draws: drawn must be int32 [resamples, topics], contiguous; got int64 [3, 4]",
        ),
        (
            (DRAWN, np.zeros(12)),
            "count_draws: weights must be float64 [resamples, topics], writable, contiguous; got float64 [12]",
        ),
        (
            (DRAWN, strided((3, 4))),
            "count_draws: weights must be float64 [resamples, topics], writable, contiguous; "
            "got float64 [3, 4], not contiguous",
        ),
        (
            (DRAWN, read_only(np.zeros((3, 4)))),
            "count_draws: weights must be float64 [resamples, topics], writable, contiguous; "
            "got float64 [3, 4], read-only",
        ),
        (
            (DRAWN, np.zeros((3, 4), ">f8")),
            "count_draws: weights must be float64 [resamples, topics], writable, contiguous; got >f8 [3, 4]",
        ),
        ((DRAWN, None), "count_draws: weights must be float64 [resamples, topics], writable, contiguous; got None"),
    ],
)
def test_arrays_that_are_not_as_declared_are_refused(arguments, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        count_draws(*arguments)


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (1, "cubic", "measure.gain must be one of binary, linear, exponential; got 'cubic'"),
        (4, 2.5, "measure.cutoff must be an integer; got 2.5"),
        (4, 1 << 64, "measure.cutoff must be an integer; got 18446744073709551616"),
        (5, "high", "measure.rel must be a number; got 'high'"),
    ],
)
def test_numbers_and_choices_that_are_not_as_declared_are_refused(position, value, message):
    formula = (*FORMULA[:position], value, *FORMULA[position + 1 :])
    with pytest.raises(TypeError, match=f"^measure_ranking: {re.escape(message)}$"):
        kernel("measure_ranking")(formula, np.zeros(1), np.zeros(1), np.zeros(1))


def test_a_fixed_size_is_checked():
    with pytest.raises(TypeError, match=re.escape("value [1] = [2]")):
        kernel("measure_ranking")(FORMULA, np.zeros(1), np.zeros(1), np.zeros(2))


@pytest.mark.parametrize("topic", [-1, 4])
def test_an_index_out_of_range_is_an_error(topic):
    with pytest.raises(IndexError, match="count_draws: an index or a count in its arrays is out of range"):
        count_draws(DRAWN + np.int32(topic), np.zeros((3, 4)))


def test_read_only_and_empty_arrays_are_taken():
    weights = np.zeros((3, 4))
    count_draws(read_only(DRAWN.copy()), weights)
    assert weights.tolist() == [[4, 0, 0, 0]] * 3
    count_draws(np.zeros((0, 4), np.int32), np.zeros((0, 4)))


def test_sizes_may_be_longer_or_belong_to_a_struct_in_it(monkeypatch):
    monkeypatch.setattr(native, "_declarations", lambda: (STRUCTS, {}))
    layout = native.Layout(native._fields("outer"))
    assert [field.name for field in layout.inputs] == ["run.bounds", "run.codes", "topic_of", "limit"]
    bounds, codes, topic_of = np.arange(4), np.zeros(5, np.uint64), np.zeros(3, np.int32)
    words = np.frombuffer(layout.pack([bounds, codes, topic_of, 0.5]), np.int64)
    assert words[[2, 3]].tolist() == [3, 5]
    assert words[[0, 1, 4]].tolist() == [array.ctypes.data for array in (bounds, codes, topic_of)]
    assert words[5:].view(np.float64).tolist() == [0.5]
    with pytest.raises(ValueError, match="sizes differ"):
        layout.pack([bounds, codes, topic_of[:2], 0.5])
    assert layout.problem([bounds, codes, topic_of[:2], 0.5]).startswith("sizes differ: run.bounds [run.topics + 1]")
    with pytest.raises(ValueError, match="sizes differ"):
        layout.pack([bounds[:0], codes, topic_of, 0.5])


STRUCTS = {
    "run": "const int64_t *bounds SIZE(topics + 1); const uint64_t *codes SIZE(items); int64_t topics, items;",
    "outer": "struct run run; int32_t *topic_of SIZE(run.topics); double limit;",
}


def test_a_kernel_is_pickled_by_its_name():
    assert counted() == [2, 2, 0, 0]
    assert pickle.loads(pickle.dumps(count_draws)) is count_draws
    assert copy.deepcopy(count_draws) is count_draws


def test_kernels_run_in_threads():
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(counted, [4] * 50)) == [[2, 2, 0, 0]] * 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_kernels_run_after_a_fork():
    code = f"{CALL}\nimport os\nif os.fork() == 0:\n{indent(CALL, ' ')}\nelse:\n os.wait()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[[2.0, 0.0]]"] * 2


def test_an_array_of_structs_has_the_words_of_each():
    made = native.records("measure", [FORMULA, (*FORMULA[:4], 7, *FORMULA[5:])])
    words = made.view(np.int64).reshape(2, -1)
    assert words[:, :5].tolist() == [[0, 1, 1, 2, 10], [0, 1, 1, 2, 7]]
    assert words[:, 5:].view(np.float64).tolist() == [[1.0, 0.8, 1.0]] * 2
    assert native.records("measure", []).shape == (0,)
    with pytest.raises(TypeError, match=r"measures must be \|V64 \[rows\], contiguous; got float64 \[2\]"):
        kernel("measure_topics")((*[np.zeros(0, np.int64)] * 3, np.zeros(0)), np.zeros(2), *[None] * 3)
    with pytest.raises(TypeError, match="measure: form must be one of sum, pairs, cascade; got None"):
        native.records("measure", [(None, *FORMULA[1:])])

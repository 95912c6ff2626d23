"""The store of job results: what is not exactly what was saved for a request is refused in one line."""

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from surefoot_lab.experiments.jobs import JobStore

from surefoot.errors import InputError

REQUEST = {"alpha": 1.0, "fold": 2}
RESULT = {"scores": np.linspace(0, 1, 200), "trees": np.array([7.0])}
LENGTHS = {"scores": 200, "trees": None}


def arrays_of(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        arrays = arrays_of(path)
        change(arrays)
        np.savez_compressed(path, allow_pickle=True, **arrays)

    return damage


def huge_header(path: Path) -> None:
    """An array that claims to have 10^18 values."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000000,), }"
    header += b" " * (117 - len(header)) + b"\n"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 64)


def bytes_damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(data)


def single_array(path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, RESULT["scores"], allow_pickle=False)
    path.write_bytes(buffer.getvalue())


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    store.save(REQUEST, RESULT)
    found = store.load(REQUEST, LENGTHS)
    assert found.keys() == RESULT.keys()
    assert all(np.array_equal(found[name], own) for name, own in RESULT.items())


@pytest.mark.parametrize(
    "damage",
    [
        changed(lambda arrays: arrays.pop("scores")),
        changed(lambda arrays: arrays.pop("digest")),
        changed(lambda arrays: arrays.update(scores=arrays["scores"][:-1])),
        changed(lambda arrays: arrays.update(scores=arrays["scores"].astype(np.float32))),
        changed(lambda arrays: arrays.update(scores=arrays["scores"].reshape(2, -1))),
        changed(lambda arrays: arrays.update(scores=arrays["scores"] + 1e-9)),
        changed(lambda arrays: arrays.update(scores=np.array([None, {}], dtype=object))),
        changed(lambda arrays: arrays.update(extra=np.ones(3))),
        huge_header,
        bytes_damaged,
        single_array,
        lambda path: path.write_bytes(path.read_bytes()[:-30]),
        lambda path: path.write_bytes(b""),
    ],
)
def test_damage_is_one_line(damage: Callable[[Path], Any], tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    store.save(REQUEST, RESULT)
    damage(store.path(REQUEST))
    with pytest.raises(InputError, match=r"\.npz: is not the result of a job; remove it, and it will be") as error:
        store.load(REQUEST, LENGTHS)
    assert "\n" not in str(error.value)


def test_the_result_of_another_job_is_refused(tmp_path: Path) -> None:
    store, other = JobStore(tmp_path), {**REQUEST, "fold": 3}
    store.save(REQUEST, RESULT)
    store.path(REQUEST).rename(store.path(other))
    with pytest.raises(InputError, match="is not the result of a job"):
        store.load(other, LENGTHS)


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result.pop("trees"),
        lambda result: result.update(more=np.ones(1)),
        lambda result: result.update(scores=result["scores"][:-1]),
        lambda result: result.update(scores=result["scores"][:, None]),
        lambda result: result.update(scores=result["scores"] + 1j),
        lambda result: result.update(scores=result["scores"].astype(str)),
        lambda result: result.update(trees=np.array(7.0)),
        lambda result: result.update(trees=np.array([np.nan])),
    ],
)
def test_a_recomputed_digest_does_not_help(change: Callable[[dict[str, Any]], Any], tmp_path: Path) -> None:
    store, result = JobStore(tmp_path), dict(RESULT)
    change(result)
    store.save(REQUEST, result)
    with pytest.raises(InputError, match="is not the result of a job"):
        store.load(REQUEST, LENGTHS)

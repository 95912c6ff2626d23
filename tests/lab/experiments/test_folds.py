"""Who trains, who validates, who tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surefoot_lab.experiments.data import Split, split

from surefoot.errors import SurefootError


def everyone(found: Split) -> list[int]:
    held = found.held_out
    return sorted([*found.tested.tolist(), *held.train.tolist(), *held.valid.tolist()])


@given(
    queries=st.integers(10, 300), folds=st.integers(3, 7), held=st.sampled_from([0.0, 0.2, 0.5]), seed=st.integers(0, 9)
)
def test_every_query_is_tested_once_or_held_out(queries: int, folds: int, held: float, seed: int) -> None:
    if queries * (1 - held) < folds + 1:
        return
    found = split(queries, folds, held, seed)
    assert everyone(found) == list(range(queries))
    assert len(found.held_out.train) + len(found.held_out.valid) == round(held * queries)
    sizes = [len(fold.test) for fold in found.folds]
    assert max(sizes) - min(sizes) <= 1
    for fold in found.folds:
        together = np.concatenate([fold.train, fold.valid, fold.test])
        assert np.sort(together).tolist() == found.tested.tolist()


def test_the_protocol_of_sigir_2016_has_its_sizes() -> None:
    found = split(10_000, folds=5, held_out=0.2)
    assert (len(found.held_out.train), len(found.held_out.valid)) == (1333, 667)
    assert {(len(fold.train), len(fold.valid), len(fold.test)) for fold in found.folds} == {(4800, 1600, 1600)}


def test_the_seed_decides() -> None:
    tests = [[fold.test.tolist() for fold in split(50, 5, seed=seed).folds] for seed in (3, 3, 4)]
    assert tests[0] == tests[1] != tests[2]


def test_own_parts_go_around_as_in_letor() -> None:
    own = np.repeat(np.arange(5), [4, 5, 6, 5, 4])
    parts = [np.flatnonzero(own == part).tolist() for part in range(5)]
    for number, fold in enumerate(split(24, folds=9, own=own).folds):
        around = [parts[(number + step) % 5] for step in range(5)]
        assert fold.train.tolist() == sorted(query for part in around[:3] for query in part)
        assert (fold.valid.tolist(), fold.test.tolist()) == (around[3], around[4])


def test_own_parts_give_alike_to_what_is_held_out() -> None:
    own = np.repeat(np.arange(5), 20)
    found = split(100, folds=5, held_out=0.2, own=own)
    assert everyone(found) == list(range(100))
    assert [len(fold.test) for fold in found.folds] == [16] * 5
    assert all(len(set(own[fold.test])) == 1 for fold in found.folds)


def test_too_few_queries() -> None:
    with pytest.raises(SurefootError, match="4 queries are too few for 5 folds"):
        split(4, folds=5)
    with pytest.raises(SurefootError, match=r"12 queries are too few to hold out a fraction of 0\.1"):
        split(12, folds=5, held_out=0.1)

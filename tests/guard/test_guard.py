"""Guards of one query: what they rank, what their files keep, and what they refuse."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import InputError, SurefootError
from surefoot.guard.guard import FEATURES, KINDS, SECOND_STAGE, THRESHOLD, Guard, Scale, features_of
from surefoot.guard.pairs import Pair
from surefoot.guard.second_stage import Forest, Tree
from surefoot.io.atomic import digest_of

STUMP = Tree((6,), (0.5,), (-1,), (-2,), (-1.0, 2.0))
SCORES = st.lists(st.integers(-5, 5), min_size=1, max_size=12)


def guard_of(kind, weight=0.4, **more):
    threshold = 1.0 if kind == THRESHOLD else 0.0
    return Guard(kind, weight, trees=(STUMP,) if kind == SECOND_STAGE else (), threshold=threshold, **more)


def two_queries(seed=0, sizes=(7, 4)):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-4, 5, (2, sum(sizes))).astype(float)
    scores[rng.random(scores.shape) < 0.15] = -np.inf
    return scores, np.concatenate([[0], np.cumsum(sizes)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("safety", [0.0, 0.3, 1.0])
def test_many_queries_at_once_rank_as_one_at_a_time(kind, seed, safety):
    (b, c), bounds = two_queries(seed)
    guard = guard_of(kind, safety=safety)
    scores = guard.ranking_scores(Pair.of(b, c, bounds))
    for begin, end in pairwise(bounds):
        order = guard.rank(b[begin:end], c[begin:end])
        assert sorted(order.tolist()) == list(range(end - begin))
        ranked = scores[begin:end][order]
        returned = ranked > -np.inf
        assert ranked[returned].tolist() == list(range(end - begin, 0, -1))[: returned.sum()]
        assert returned.all() or kind in ("none", THRESHOLD) or safety == 1


@given(SCORES, st.randoms(use_true_random=False))
def test_ranks_are_those_of_a_count(values, random):
    b, c = np.array(values, float), np.array(random.sample(values, len(values)), float)
    pair = Pair.of(b, c)
    assert pair.baseline.rank.tolist() == [1 + sum(other > one for other in values) for one in values]
    assert (pair.candidate.min_max >= 0).all()
    assert (pair.candidate.min_max <= 1).all()
    assert abs(pair.candidate.z.sum()) < 1e-9


@pytest.mark.parametrize("kind", ["z", "log-rank"])
def test_no_weight_leaves_the_candidate_alone_and_none_is_the_candidate(kind):
    (b, c), _ = two_queries(3)
    alone = Guard().rank(b, c)
    assert Guard(kind, 0.0).rank(b, c).tolist() == alone.tolist()
    assert c[alone].tolist() == sorted(c.tolist(), reverse=True)


def test_all_the_weight_is_the_baseline():
    rng = np.random.default_rng(0)
    b, c = rng.permutation(9.0 + np.arange(9)), rng.normal(size=9)
    wanted = np.argsort(-b).tolist()
    for guard in (Guard("z", 1.0), Guard("log-rank", 1.0), Guard(safety=1.0), Guard("interpolation", 1e9)):
        assert guard.rank(b, c).tolist() == wanted


@given(SCORES, st.randoms(use_true_random=False), st.floats(0, 1))
def test_log_ranks_need_only_the_orders(values, random, weight):
    """Any increasing map of the scores gives the same ranking; the formula is computed document by document."""
    b, c = np.array(values, float), np.array(random.sample(values, len(values)), float)
    guard = Guard("log-rank", weight)
    assert guard.rank(b, c).tolist() == guard.rank(np.exp(b), c**3).tolist()
    ranks = [[1 + sum(other > one for other in scores) for one in scores] for scores in (b, c)]
    expected = [-(1 - weight) * np.log(rc) - weight * np.log(rb) for rb, rc in zip(*ranks, strict=True)]
    assert guard.scores(Pair.of(b, c)) == pytest.approx(expected)


def test_log_ranks_put_documents_that_are_missing_after_the_last():
    pair = Pair.of([3.0, 2.0, -np.inf, -np.inf], [1.0, -np.inf, 2.0, 3.0])
    ranks = zip([1, 2, 3, 3], [3, 4, 2, 1], strict=True)
    expected = [-0.7 * np.log(rc) - 0.3 * np.log(rb) for rb, rc in ranks]
    assert Guard("log-rank", 0.3).scores(pair) == pytest.approx(expected)


def test_the_interpolated_term_is_the_score_over_its_rank():
    guard = Guard("interpolation", 0.5, Scale(spread=2.0, floor=-1.0, top=4.0))
    pair = Pair.of([3.0, 1.0, 1.0, -np.inf], [0.0, 2.0, 4.0, 6.0])
    assert guard.scores(pair).tolist() == [0 + 0.5 * 1, 1 + 0.5 * 0.5 / 2, 2 + 0.5 * 0.5 / 2, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_no_documents_and_none_for_a_score(kind):
    assert guard_of(kind).rank([], []).tolist() == []
    missing = guard_of(kind).rank([3.0, None, 1.0], [None, 1.0, 2.0])
    assert missing.tolist() == guard_of(kind).rank([3.0, -np.inf, 1.0], [-np.inf, 1.0, 2.0]).tolist()


def test_documents_that_a_ranker_did_not_return_come_below_those_it_did():
    c = np.array([-np.inf, -3.0, -9.0, -np.inf])
    assert Guard().rank([1.0, 2.0, 3.0, 4.0], c).tolist() == [1, 2, 0, 3]
    assert Guard("z", 0.0).rank([1.0, 2.0, 3.0, 4.0], c).tolist() == [1, 2, 0, 3]
    assert Guard(safety=1.0).rank(c, [1.0, 2.0, 3.0, 4.0]).tolist() == [1, 2, 3, 0]
    nothing = np.full(4, -np.inf)
    for kind in KINDS:
        assert sorted(guard_of(kind).rank([1.0, 2.0, 3.0, 4.0], nothing).tolist()) == [0, 1, 2, 3]


def test_a_threshold_trusts_the_baseline_where_its_best_score_is_high():
    guard = Guard("threshold", threshold=5.0)
    assert guard.rank([4.9, 1.0, 2.0], [1.0, 2.0, 3.0]).tolist() == [2, 1, 0]
    assert guard.rank([5.0, 1.0, 2.0], [1.0, 2.0, 3.0]).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (None, "missing or unknown threshold"),
        (float("inf"), "the threshold of a guard must be finite; got inf"),
        ("1", "expected finite numbers for weight, safety and threshold"),
        ([1.0], "expected finite numbers for weight, safety and threshold"),
    ],
)
def test_a_damaged_threshold_is_refused(threshold, message):
    content = guard_of("threshold").to_json()
    assert content.pop("threshold") == 1.0
    with pytest.raises(SurefootError, match=message):
        Guard.from_json(content if threshold is None else {**content, "threshold": threshold})
    with pytest.raises(SurefootError, match="missing or unknown threshold"):
        Guard.from_json({**guard_of("z").to_json(), "threshold": 1.0})


def test_features_by_hand():
    pair = Pair.of([4.0, 2.0, 0.0], [1.0, 3.0, 2.0])
    spread = np.sqrt(2 / 3)
    found = dict(zip(FEATURES, features_of(pair, Scale(spread=spread, floor=0.0, top=4.0)), strict=True))
    expected = {
        "score": np.array([1, 3, 2]) / spread,
        "gap": np.array([2, 0, 1]) / spread,
        "z": np.array([-1, 1, 0]) / spread,
        "candidate_rank": np.log([3, 1, 2]),
        "baseline_rank": np.log([1, 2, 3]),
        "rank_difference": np.log([3, 1 / 2, 2 / 3]),
        "baseline_min_max": np.array([1, 0.5, 0]),
        "lean": np.array([1, 0.25, 0]),
        "spread": np.ones(3),
        "overlap": np.ones(3),
        "documents": np.log([3, 3, 3]),
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=1e-6), name


def slow_tree(tree, row):
    node = 0 if tree.feature else -1
    while node >= 0:
        node = tree.left[node] if row[tree.feature[node]] <= tree.threshold[node] else tree.right[node]
    return tree.value[-node - 1]


def test_a_forest_is_the_sum_of_walks():
    rng = np.random.default_rng(0)
    deep = Tree((0, 1, 0, 2, 1), (0.0, 0.1, -0.5, 0.3, -0.2), (1, -1, -3, 4, -5), (2, 3, -2, -4, -6), tuple(range(6)))
    forest = Forest((deep, Tree((), (), (), (), (0.25,)), Tree((2,), (0.0,), (-1,), (-2,), (5.0, 7.0))))
    rows = rng.normal(size=(50, 3)).round(1)
    assert forest(rows.T).tolist() == [sum(slow_tree(tree, row) for tree in forest.trees) for row in rows]


@pytest.mark.parametrize(
    "guard", [Guard("interpolation", 0.6, Scale(2.0, -1.0, 3.0)), guard_of(SECOND_STAGE, 0.0, card={"a": [1]})]
)
def test_a_file_gives_back_the_guard(guard, tmp_path):
    guard.save(tmp_path / "guard.json")
    found = Guard.load(tmp_path / "guard.json")
    assert found == guard
    assert found.card == guard.card


@pytest.mark.parametrize(("kind", "former"), [("interpolation", "lean"), (SECOND_STAGE, "trees")])
def test_a_file_of_0_2_is_served_under_the_present_name(kind, former, tmp_path):
    """Its checksum is of the file as it was written."""
    path, guard = tmp_path / "guard.json", guard_of(kind)
    content = guard.to_json() | {"kind": former}
    path.write_text(json.dumps(content | {"digest": digest_of(json.dumps(content, sort_keys=True), 8)}))
    assert Guard.load(path) == guard


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "surefoot guard 2"}, "its format is 'surefoot guard 2', this version reads"),
        ({"format": "other"}, "not a guard"),
        ({"kind": "magic"}, "must be one of none, z"),
        ({"kind": "cap"}, "guards of kind cap are no longer served; fit it again"),
        ({"weight": "0.5"}, "expected finite numbers"),
        ({"weight": -1.0}, "must be 0 or more"),
        ({"safety": 2.0}, "must lie from 0 to 1"),
        ({"scale": {"spread": 0.0, "floor": 0.0, "top": 1.0}}, "spread and top of at least 1e-100"),
        ({"scale": {}}, "a scale has the fields spread, floor, top"),
        ({"trees": [{}]}, "a tree has the fields"),
        ({"features": ["x"]}, "over other features"),
        ({"extra": 1}, "missing or unknown extra"),
        ({"weight": 0.7}, "was changed after it was fitted"),
    ],
)
def test_a_file_that_was_edited_is_refused_in_one_line(change, message, tmp_path):
    path = tmp_path / "guard.json"
    guard_of(SECOND_STAGE, 0.0).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message) as caught:
        Guard.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [10**400, 2**64, -(2**64), True, [1], "1", None, {}])
@pytest.mark.parametrize("keys", [("weight",), ("safety",), ("threshold",), ("scale", "spread"), ("scale", "floor")])
def test_numbers_that_are_none_are_refused_whatever_the_digest(keys, value, tmp_path):
    path = tmp_path / "guard.json"
    Guard("threshold", threshold=0.5).save(path)
    content = json.loads(path.read_text())
    del content["digest"]
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    content["digest"] = digest_of(json.dumps(content, sort_keys=True), 8)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"guard\.json: damaged guard: ") as error:
        Guard.load(path)
    assert str(error.value).count("\n") == 0


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"format": 3}', "\xff"])
def test_what_is_no_guard_is_refused(text, tmp_path):
    path = tmp_path / "guard.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match="not a guard"):
        Guard.load(path)


@pytest.mark.parametrize(
    "tree",
    [
        ((0,), (0.5,), (-1,), (-1,), (1.0, 2.0)),
        ((0, 0), (0.5, 0.5), (1, 1), (-1, -2), (1.0, 2.0, 3.0)),
        ((0,), (0.5,), (0,), (-2,), (1.0, 2.0)),
        ((0,), (np.inf,), (-1,), (-2,), (1.0, 2.0)),
        ((0,), (0.5,), (-1,), (-2,), (1.0,)),
        ((0,) * 9, (0.5,) * 9, (-1,) * 9, (-2,) * 9, (1.0,) * 10),
    ],
)
def test_a_tree_that_does_not_hang_together_is_refused(tree):
    with pytest.raises(SurefootError, match="tree"):
        Tree(*tree)


@pytest.mark.parametrize(
    ("b", "c", "message"),
    [
        ([1.0, np.nan], [1.0, 2.0], "the baseline's score of document 2 is nan"),
        ([1.0, 2.0], [np.inf, 2.0], "the candidate's score of document 1 is inf"),
        ([1.0, 2.0], [1.0], "scores 2 documents, the candidate 1"),
        ([], [1.0], "one number per document"),
        (["a"], [1.0], "must be numbers"),
    ],
)
def test_scores_that_are_none_are_refused(b, c, message):
    with pytest.raises(SurefootError, match=message):
        Guard().rank(b, c)


def test_a_service_loads_numpy_alone():
    code = (
        "import sys; from surefoot.guard.guard import Guard; Guard('z', 0.3).rank([1, 2], [2, 1]);"
        "print(*{'lightgbm', 'scipy', 'polars', 'pandas', 'matplotlib'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert not found.stdout.split()


@pytest.mark.parametrize("safety", [0.0, 0.5, 1.0])
def test_no_hits_rank_as_nothing(safety: float) -> None:
    assert Guard(safety=safety).rank([], []).tolist() == []

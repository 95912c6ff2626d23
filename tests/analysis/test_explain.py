"""Groups of queries that carry the loss: planted ones are found, others are not; and what is told of them."""

import numpy as np
import pytest

from surefoot import Scores, SurefootError, explain, gate
from surefoot.analysis import evaluate_segments
from surefoot.analysis.explanation import confirmations, proposed_by, search, without_redundant
from surefoot.analysis.query_features import (
    Condition,
    Feature,
    conditions_of,
    judged_feature,
    own_feature,
    ranking_features,
    text_features,
)
from surefoot.io.memory import run_in_memory
from surefoot.stats.inference import correct
from surefoot.stats.permutation import group_test

QUICK = 499


def planted(size: int = 240, seed: int = 0) -> tuple[Scores, dict[str, str]]:
    """Queries with a number lose 0.3; other differences are noise."""
    random = np.random.default_rng(seed)
    words = np.array(["sky", "river", "stone", "cloud", "wind"])
    texts = [" ".join(random.choice(words, random.integers(2, 7))) for _ in range(size)]
    texts = [f"{text} 42" if random.random() < 0.15 else text for text in texts]
    old = random.uniform(0.3, 1.0, size)
    new = old + random.normal(0, 0.05, size) - 0.3 * np.array(["42" in text for text in texts])
    topics = [f"q{number}" for number in range(size)]
    return Scores([old, new], ["old", "new"], topics), dict(zip(topics, texts, strict=True))


def test_a_planted_group_is_found_and_told_in_words() -> None:
    scores, queries = planted()
    found = explain(scores, "new", "old", queries=queries, n_resamples=QUICK)
    first = found.rows()[0]
    assert first["group"] == "queries with a number"
    assert first["confirmed"]
    inside = np.array(["42" in text for text in queries.values()])
    assert first["topics"] == inside.sum()
    loss = np.maximum(scores["old"] - scores["new"], 0)
    assert first["loss"] == pytest.approx(loss[inside].sum() / loss.sum())  # either half tested it
    assert first["queries"] == pytest.approx(inside.mean())
    assert first["delta"] == pytest.approx((scores["new"] - scores["old"])[inside].mean())
    told = f"queries with a number: {100 * inside.mean():.0f} % of queries, {100 * first['loss']:.0f} % of the loss"
    assert told in found.notes
    assert "%" in found.readable().rows()[0]["loss"]


def test_segments_are_ready_for_the_gate_and_for_evaluate() -> None:
    scores, queries = planted()
    segments = explain(scores, "new", "old", queries=queries, n_resamples=QUICK).segments()
    assert set(segments) == set(scores.topics)
    assert {segments[topic] for topic in scores.topics if "42" in queries[topic]} == {"queries with a number"}
    worst = evaluate_segments(scores, segments, "old").rows()[0]
    assert worst["segment"] == "queries with a number"
    verdict = gate(scores, "old", candidate="new", segments=segments)
    assert any("queries with a number" in str(row) for row in verdict.rows())


def test_nothing_is_confirmed_where_nothing_is_planted() -> None:
    random, confirmed = np.random.default_rng(5), 0
    for seed in range(30):
        scores, queries = planted(100, seed)
        noise = Scores(random.random((2, 100)), ["old", "new"], scores.topics)
        found = explain(noise, "new", "old", queries=queries, n_resamples=199, seed=seed)
        confirmed += bool(found["confirmed"].any())
    assert confirmed <= 8  # 30 × 0.1 is 3; more than 8 has a probability of 0.002


def test_no_loss_no_group() -> None:
    scores, queries = planted()
    better = Scores([scores["old"], scores["old"] + 0.01], ["old", "new"], scores.topics)
    found = explain(better, "new", "old", queries=queries)
    assert len(found) == 0
    assert set(found.segments().values()) == {"all other queries"}
    assert any("0 queries of 240 lost" in note for note in found.notes)
    assert str(found)


def test_the_same_seed_gives_the_same_groups_and_a_signature() -> None:
    scores, queries = planted()
    one, two = (explain(scores, "new", "old", queries=queries, n_resamples=QUICK, seed=4) for _ in range(2))
    assert one.rows() == two.rows()
    assert one.signature.startswith("explain|measure=score|system=new|baseline=old|topics=240|groups=")


def test_own_features_are_cut_or_grouped() -> None:
    scores, queries = planted()
    kind = {topic: "digits" if "42" in text else "letters" for topic, text in queries.items()}
    found = explain(scores, "new", "old", features={"kind": kind}, n_resamples=QUICK)
    assert found.rows()[0]["group"] == "kind = digits"
    age = {topic: float("42" in text) + number / 1000 for number, (topic, text) in enumerate(queries.items())}
    assert "age" in explain(scores, "new", "old", features={"age": age}, n_resamples=QUICK).rows()[0]["group"]
    assert "a{x} {}" in explain(scores, "new", "old", features={"a{x} {}": age}, n_resamples=QUICK).rows()[0]["group"]
    assert [one.words for one in own_feature("flag", [True, False, None])] == ["flag = True", "flag = False"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the 240 queries have no features"),
        ({"queries": {"q0": "sky"}}, "no text of 239 topics: q1, q2"),
        ({"features": {"x": {"q1": 1}}, "level": 0}, "level must be above 0 and at most"),
        ({"runs": {"new": {"q0": {"d": 1.0}}}}, "no run of old among those given: new"),
    ],
)
def test_what_can_not_be_explained_is_said(options: dict[str, object], message: str) -> None:
    scores, _ = planted()
    with pytest.raises(SurefootError, match=message):
        explain(scores, "new", "old", **options)  # type: ignore[arg-type]


def test_few_queries_are_refused() -> None:
    scores, queries = planted(30)
    with pytest.raises(SurefootError, match="needs 40 queries or more; got 30"):
        explain(scores, "new", "old", queries=queries)


def test_features_of_texts() -> None:
    texts = ["who was first in 1066", "is that not it", "blue sky", "don't go", "sky?"]
    flags = {one.words: one.members.tolist() for one in text_features(texts) if isinstance(one, Condition)}
    assert flags["queries with a number"] == [True, False, False, False, False]
    assert flags["questions"] == [True, True, False, False, True]
    assert flags["queries with a negation"] == [False, True, False, True, False]
    assert flags["queries with the word 'sky'"] == [False, False, True, False, True]
    numbers = [one for one in text_features(texts, ["sky sky blue", "sky"]) if isinstance(one, Feature)]
    assert numbers[0].values.tolist() == [5, 4, 2, 2, 1]
    assert numbers[-1].values.tolist() == [0, 0, 1, 0, 2]  # documents with the rarest word
    assert "documents" in numbers[-1].low


def test_features_of_rankings() -> None:
    def ranked(first: int, scores: list[float]) -> dict[str, float]:
        return {f"d{first + number}": score for number, score in enumerate(scores)}

    steps = [20.0 - number for number in range(20)]
    old = run_in_memory({"q1": ranked(0, steps), "q2": ranked(0, steps)}, "old", "error")
    new = run_in_memory({"q1": ranked(0, steps), "q2": ranked(6, [100.0, *steps[1:]])}, "new", "error")
    shared, own, theirs = ranking_features(new, old, ["q1", "q2", "q3"])
    np.testing.assert_array_equal(shared.values, [10, 4, np.nan])
    np.testing.assert_allclose(theirs.values, [100 * 9 / 19, 100 * 9 / 19, np.nan])
    np.testing.assert_allclose(own.values, [100 * 9 / 19, 100 * 89 / 99, np.nan])
    assert "new" in own.low
    assert judged_feature("new", np.array([0.5])).values.tolist() == [50]


def test_conditions_are_neither_tiny_nor_large_nor_twice() -> None:
    values = np.arange(100.0)
    found = conditions_of([Feature("at most {}", "{} or more", values), Condition("again", values <= 9)])
    assert [one.words for one in found] == [
        "at most 9",
        "at most 19",
        "at most 39",
        "90 or more",
        "80 or more",
        "60 or more",
    ]
    assert not Condition("few", np.arange(100) < 4).is_usable
    assert not list(Feature("{}", "{}", np.full(9, np.nan)).conditions())
    assert not conditions_of([Feature("{}", "{}", np.ones(50))])


def test_groups_are_tested_without_the_queries_of_those_before() -> None:
    """A slow look at the search: each p is that of the group among the queries left, Holm's times 2."""
    random = np.random.default_rng(3)
    first, second = random.random(300) < 0.2, random.random(300) < 0.2
    loss = np.maximum(random.normal(0, 0.1, 300), 0) + 0.4 * first + 0.2 * second
    conditions = [Condition("first", first), Condition("second", second), Condition("none", random.random(300) < 0.3)]
    found = {one.condition.words: one for one in search(loss, conditions, QUICK, 0)}
    assert found["first"].p_adjusted < 0.05 > found["second"].p_adjusted
    half = np.zeros(300, np.bool_)
    half[np.random.default_rng(0).permutation(300)[::2]] = True
    proposed = proposed_by(half, loss, conditions)
    assert [one.words for one in proposed][:2] == ["first", "second"]
    left, expected = ~half, []
    for one in proposed:
        expected.append(group_test(loss[left], one.members[np.newaxis, left], QUICK, 0)[0])
        left = left & ~one.members
    tested = confirmations(~half, proposed, loss, QUICK, 0)
    assert [one.p for one in tested] == expected
    np.testing.assert_allclose([one.p_adjusted for one in tested], np.minimum(2 * correct(expected, "holm"), 1))


def test_groups_of_the_same_words_are_tested_apart() -> None:
    random = np.random.default_rng(3)
    first, second = random.random(300) < 0.2, random.random(300) < 0.2
    loss = np.maximum(random.normal(0, 0.1, 300), 0) + 0.4 * first + 0.2 * second
    apart, alike = (
        search(loss, [Condition(one, first), Condition(other, second)], QUICK, 0)
        for one, other in (("one", "other"), ("group", "group"))
    )
    assert len(apart) == 2
    assert [(one.p, one.p_adjusted) for one in alike] == [(one.p, one.p_adjusted) for one in apart]


def test_large_whole_numbers_are_told_in_full() -> None:
    values = np.concatenate([np.full(10, 12_303.0), np.full(10, 12_307.0), np.full(80, 99_999.6)])
    found = [one.words for one in conditions_of([Feature("at most {}", "{} or more", values)])]
    assert found == ["at most 12,303", "at most 12,307"]
    edge = np.concatenate([np.full(20, 999.4), np.full(20, 999.6), np.full(60, 2000.0)])
    assert [one.words for one in conditions_of([Feature("{}", "{}", edge)])] == ["999", "1,000"]


def test_what_adds_nothing_is_left_out() -> None:
    random = np.random.default_rng(8)
    group = random.random(200) < 0.3
    loss = 0.01 * random.random(200) + 0.5 * group
    same = group.copy()
    same[np.flatnonzero(~group)[np.argsort(loss[~group])[:10]]] = True  # the group and ten queries that lose least
    tested = search(loss, [Condition("group", group)], QUICK, 0)
    again = search(loss, [Condition("same", same)], QUICK, 0)
    assert [one.condition.words for one in without_redundant([*tested, *again], loss)] == ["group"]

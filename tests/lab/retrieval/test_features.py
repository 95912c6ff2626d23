"""Features against the same counted from the raw texts, and what they must not depend on."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import log

import numpy as np
import pytest
from surefoot_lab.retrieval.collection import Collection
from surefoot_lab.retrieval.features import ranking_data
from surefoot_lab.retrieval.index import Index, grams, terms
from surefoot_lab.retrieval.models import MODELS

from surefoot.errors import SurefootError

WORDS = "sail mast rope keel deck hull tide wave port dock crew bow".split()


@pytest.fixture(scope="module")
def fleet() -> Collection:
    """Forty documents and twelve queries of words drawn at random, some of the queries' words in no document."""
    random = np.random.default_rng(7)

    def draw(least, most, words=WORDS):
        return " ".join(random.choice(words, random.integers(least, most)))

    documents = {f"{draw(1, 3).replace(' ', '_')}.{place}x": draw(2, 15) for place in range(40)}
    queries = {f"t{place:02}": draw(2, 6, [*WORDS, "oar", "gull"]) for place in range(11)} | {"t11": "oar gull oar"}
    qrels = {topic: {name: int(random.integers(-1, 4)) for name in random.choice([*documents], 8)} for topic in queries}
    return Collection(documents, queries, qrels)


class Slow:
    """A collection's statistics and features, counted the obvious way."""

    def __init__(self, task):
        self.task = task
        self.names = {name: terms(name) if task.named else [] for name in task.documents}
        self.texts = {name: self.names[name] + terms(text) for name, text in task.documents.items()}
        self.pairs = {name: list(pairwise(text)) for name, text in self.texts.items()}
        self.known = {term for text in self.texts.values() for term in text}
        self.known_grams = {gram for term in self.known for gram in grams(term)}

    @staticmethod
    def idf(texts, term):
        n = sum(term in text for text in texts.values())
        return log(1 + (len(texts) - n + 0.5) / (n + 0.5))

    def bm25(self, texts, query, name):
        mean, own = sum(map(len, texts.values())) / len(texts), texts[name]
        norm = 0.9 * (0.6 + 0.4 * len(own) / mean)
        return sum(self.idf(texts, t) * own.count(t) * 1.9 / (own.count(t) + norm) for t in query if t in own)

    def features(self, topic, name):
        words = terms(self.task.queries[topic])
        text, title, query = self.texts[name], self.names[name], {word for word in words if word in self.known}
        asked = {gram for word in words for gram in grams(word)} & self.known_grams
        rarity = {word: self.idf(self.texts, word) for word in query}
        there = {gram for word in text for gram in grams(word)}
        frequency = sum(Counter(text)[word] for word in query)
        return {
            "bm25": self.bm25(self.texts, words, name),
            "length": len(text),
            "distinct": len(set(text)),
            "query.length": len(query),
            "query.idf": sum(rarity.values()),
            "query.idf.max": max(rarity.values()),
            "query.idf.mean": sum(rarity.values()) / len(query),
            "matched": len(query & set(text)),
            "matched.share": len(query & set(text)) / len(query),
            "matched.idf": sum(rarity[word] for word in query & set(text)) / sum(rarity.values()),
            "frequency": frequency,
            "frequency.share": frequency / len(text),
            "grams.share": len(asked & there) / len(asked),
            "pairs": self.bm25(self.pairs, list(pairwise(words)), name),
            "name.length": len(title),
            "name.matched": len(query & set(title)),
            "name.share": len(query & set(title)) / len(query),
            "name.covered": len(query & set(title)) / len(set(title)),
        }


def rows_of(data):
    """Each row with its topic, document and place."""
    topics = [data.queries[query] for query in data.query_of_row]
    return zip(topics, data.documents, range(len(topics)), strict=True)


def same(one, two):
    return one.fingerprint == two.fingerprint and one.documents.equals(two.documents)


def test_features_are_those_counted_from_the_texts(fleet):
    slow, data = Slow(fleet), ranking_data(fleet)
    for topic, name, row in rows_of(data):
        for feature, expected in slow.features(topic, name).items():
            assert data.column(feature)[row] == pytest.approx(expected, rel=1e-5), (topic, name, feature)


def test_scores_are_those_of_the_models(fleet):
    data, index = ranking_data(fleet), Index.of(fleet)
    places = [(index.topics.index(topic), index.documents.index(name)) for topic, name, _ in rows_of(data)]
    for system, model in MODELS.items():
        table = model(index).toarray()
        expected = np.array([table[place] for place in places])
        scores = data.column(system.lower())
        assert scores == pytest.approx(expected, rel=1e-5)
        for start, end in pairwise(data.bounds):
            largest = np.abs(expected[start:end]).max() or 1.0
            assert data.column(f"{system.lower()}.max")[start:end] == pytest.approx(
                expected[start:end] / largest, rel=1e-5, abs=1e-6
            )


def test_every_feature_is_checked_above(fleet):
    checked = [*Slow(fleet).features("t00", min(fleet.documents)), *(name.lower() for name in MODELS)]
    names = ranking_data(fleet).feature_names
    assert {name for name in names if not name.endswith(".max") or name == "query.idf.max"} == set(checked)
    assert len(set(names)) == len(names) == 39


@pytest.mark.parametrize("depth", [1, 5, 100])
def test_candidates_are_the_best_of_bm25_in_the_order_of_their_names(fleet, depth):
    slow, data = Slow(fleet), ranking_data(fleet, depth=depth)
    for place, topic in enumerate(data.queries):
        scores = {name: slow.bm25(slow.texts, terms(fleet.queries[topic]), name) for name in fleet.documents}
        ranked = sorted(scores, key=lambda name: (round(scores[name], 6), name), reverse=True)
        expected = sorted(name for name in ranked[:depth] if scores[name] > 0)
        assert data.documents[data.bounds[place] : data.bounds[place + 1]].to_list() == expected


def test_labels_are_the_grades(fleet):
    data = ranking_data(fleet)
    assert data.labels.max() == 3
    for topic, name, row in rows_of(data):
        assert data.labels[row] == max(0, fleet.qrels[topic].get(name, 0))


def test_a_query_that_finds_nothing_has_no_rows(fleet):
    data = ranking_data(fleet)
    assert data.queries == tuple(f"t{place:02}" for place in range(11))
    assert data.features.shape == (data.bounds[-1], 39)
    assert np.isfinite(data.features).all()
    assert repr(ranking_data(fleet, ["t11"])) == "RankingData(0 queries, 0 documents, 39 features)"


def test_the_order_of_documents_and_topics_changes_nothing(fleet):
    def backwards(mapping):
        return dict(reversed(mapping.items()))

    turned = replace(fleet, documents=backwards(fleet.documents), queries=backwards(fleet.queries))
    assert same(ranking_data(turned), ranking_data(fleet))
    assert same(ranking_data(fleet, ["t05", "t02"]), ranking_data(fleet, ["t02", "t05"]))


def test_grades_and_names_of_topics_do_not_reach_the_features(fleet):
    data = ranking_data(fleet)
    unjudged = ranking_data(replace(fleet, qrels={}))
    assert not unjudged.labels.any()
    assert np.array_equal(unjudged.features, data.features)
    answers = sorted(fleet.documents)[: len(fleet.queries)]
    renamed = dict(zip(answers, (fleet.queries[topic] for topic in sorted(fleet.queries)), strict=True))
    assert np.array_equal(ranking_data(replace(fleet, queries=renamed)).features, data.features)


def test_a_query_has_the_same_features_among_others(fleet):
    data = ranking_data(fleet)
    chosen = [1, 4, 9]
    assert same(ranking_data(fleet, [data.queries[place] for place in chosen]), data.select(chosen))


def test_ids_that_are_no_names_do_not_reach_the_features(fleet):
    texts = [fleet.documents[name] for name in sorted(fleet.documents)]
    numbered = Collection(
        {f"sail-{place:02}": text for place, text in enumerate(texts)}, fleet.queries, {}, named=False
    )
    data = ranking_data(numbered)
    other = {f"hull-{place:02}": text for place, text in enumerate(texts)}
    assert np.array_equal(ranking_data(replace(numbered, documents=other)).features, data.features)
    assert len(data.feature_names) == 31
    assert not [name for name in data.feature_names if "name" in name]
    slow = Slow(numbered)
    for topic, name, row in rows_of(data):
        assert data.column("bm25")[row] == pytest.approx(slow.bm25(slow.texts, terms(numbered.queries[topic]), name))


def test_documents_of_one_word():
    task = Collection({"d1": "sail", "d2": "mast", "d3": ""}, {"q": "sail"}, {"q": {"d1": 1}}, named=False)
    data = ranking_data(task)
    assert data.documents.to_list() == ["d1"]
    assert data.column("pairs").tolist() == [0.0]
    assert data.labels.tolist() == [1.0]


def test_wrong_use(fleet):
    with pytest.raises(SurefootError, match=r"no topic t99, no in the collection; it has t00, t01, .* and 7 more"):
        ranking_data(fleet, ["t99", "t00", "no"])
    with pytest.raises(SurefootError, match="depth must be 1 or more; got 0"):
        ranking_data(fleet, depth=0)
    with pytest.raises(SurefootError, match="features need documents and queries; got 40 documents and 0 queries"):
        ranking_data(fleet, [])

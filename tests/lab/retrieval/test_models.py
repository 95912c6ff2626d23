"""Each model against its formula written out term by term, on five documents."""

from collections import Counter
from math import e, log, log2, pi, sqrt

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from surefoot_lab.retrieval import models
from surefoot_lab.retrieval.index import Field, Index, grams, largest, terms
from surefoot_lab.retrieval.models import MODELS


class Slow:
    """The statistics of a collection, counted the obvious way."""

    def __init__(self, task, text=lambda name, body: terms(name) + terms(body)):
        self.topics, self.names = sorted(task.queries), sorted(task.documents)
        self.queries = [Counter(terms(task.queries[topic])) for topic in self.topics]
        self.documents = [Counter(text(name, task.documents[name])) for name in self.names]
        self.lengths = [document.total() for document in self.documents]
        self.N = len(self.documents)
        self.avg = sum(self.lengths) / self.N
        self.F = sum(self.documents, Counter())
        self.n = Counter(term for document in self.documents for term in document)

    def scores(self, part, rest=lambda query, length: 0.0):
        table = np.zeros((len(self.queries), self.N))
        for row, query in enumerate(self.queries):
            for column, (document, length) in enumerate(zip(self.documents, self.lengths, strict=True)):
                shared = [t for t in query if t in document]
                if shared:
                    table[row, column] = rest(query, length) + sum(
                        query[t] * part(t, document[t], length) for t in shared
                    )
        return table


def bm25_part(slow, k1=0.9, b=0.4):
    return lambda t, f, length: (
        log(1 + (slow.N - slow.n[t] + 0.5) / (slow.n[t] + 0.5))
        * f * (k1 + 1) / (f + k1 * (1 - b + b * length / slow.avg))
    )  # fmt: skip


def test_bm25_by_hand():
    """Two documents, "a a b" and "b": n(a) = 1, N = 2, avg = 2; 2 · 1.9 / (2 + 0.9 · (0.6 + 0.4 · 1.5)) · ln 2."""
    field = Field.of([["a", "a", "b"], ["b"]], [["a"]])
    scores = models.bm25(Index(("d1", "d2"), ("q",), field, field, field, field)).toarray()
    assert scores[0] == pytest.approx([2 * 1.9 / (2 + 0.9 * 1.2) * log(1 + 1.5 / 1.5), 0.0])


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.2, 0.75)])
def test_bm25(small, index, k1, b):
    slow = Slow(small)
    assert models.bm25(index, k1, b).toarray() == pytest.approx(slow.scores(bm25_part(slow, k1, b)))


def test_names(small, index):
    slow = Slow(small, text=lambda name, body: terms(name))
    assert models.names(index).toarray() == pytest.approx(slow.scores(bm25_part(slow)))


def test_weighted_names(small, index):
    slow = Slow(small, text=lambda name, body: 3 * terms(name) + terms(body))
    assert models.weighted_names(index, weight=2).toarray() == pytest.approx(slow.scores(bm25_part(slow)))


def test_dirichlet(small, index):
    slow, mu = Slow(small), 7.0
    expected = slow.scores(
        lambda t, f, length: log((f + mu * slow.F[t] / slow.F.total()) / (mu * slow.F[t] / slow.F.total())),
        lambda query, length: sum(query[t] for t in query if t in slow.F) * log(mu / (length + mu)),
    )
    assert models.lm_dirichlet(index, mu).toarray() == pytest.approx(expected)


def test_dirichlet_ranks_by_query_likelihood(small, index):
    """What is left out of the score is the same for all documents of a query."""
    slow, mu = Slow(small), 7.0
    likelihood = [
        sum(qf * log((d[t] + mu * slow.F[t] / slow.F.total()) / (length + mu)) for t, qf in slow.queries[0].items())
        for d, length in zip(slow.documents, slow.lengths, strict=True)
    ]
    scores = models.lm_dirichlet(index, mu).toarray()[0]
    gaps = (scores - likelihood)[scores != 0]
    assert gaps == pytest.approx(np.full(len(gaps), gaps[0]))


def test_jelinek_mercer(small, index):
    slow = Slow(small)
    expected = slow.scores(
        lambda t, f, length: log(
            (0.3 * f / length + 0.7 * slow.F[t] / slow.F.total()) / (0.7 * slow.F[t] / slow.F.total())
        )
    )
    assert models.lm_jelinek_mercer(index, 0.7).toarray() == pytest.approx(expected)


def test_pl2(small, index):
    slow = Slow(small)

    def part(t, f, length):
        x, mean = f * log2(1 + slow.avg / length), slow.F[t] / slow.N
        return (x * log2(x / mean) + (mean - x) * log2(e) + 0.5 * log2(2 * pi * x)) / (x + 1)

    assert models.pl2(index).toarray() == pytest.approx(slow.scores(part))


def sklearn_cosines(task, analyzer):
    vectorizer = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True)
    documents = vectorizer.fit_transform([f"{name} {task.documents[name]}" for name in sorted(task.documents)])
    return (vectorizer.transform([task.queries[topic] for topic in sorted(task.queries)]) @ documents.T).toarray()


def test_tfidf_is_scikit_learns(small, index):
    assert models.tfidf(index).toarray() == pytest.approx(sklearn_cosines(small, terms))


def test_character_ngrams_are_scikit_learns(small, index):
    expected = sklearn_cosines(small, lambda text: [gram for term in terms(text) for gram in grams(term)])
    assert models.character_ngrams(index).toarray() == pytest.approx(expected)


def test_rm3(small, index):
    slow, row, k, m = Slow(small), 0, 2, 3
    part = bm25_part(slow)
    first = slow.scores(part)[row]
    best = sorted(range(slow.N), key=lambda d: (-first[d], -d))[:k]
    lent = Counter()
    for d in best:
        for t, f in slow.documents[d].items():
            lent[t] += first[d] / sum(first[best]) * f / slow.lengths[d]
    kept = sorted(lent, key=lambda t: (-round(lent[t], 12), [-ord(c) for c in t]))[:m]
    query = {t: 0.6 * qf / slow.queries[row].total() for t, qf in slow.queries[row].items()}
    for t in kept:
        query[t] = query.get(t, 0) + 0.4 * lent[t] / sum(lent[each] for each in kept)
    slow.queries[row] = query
    found = models.bm25_rm3(index, documents=k, terms=m, original=0.6).toarray()[row]
    assert found == pytest.approx(slow.scores(part)[row])


def test_feedback_that_counts_for_nothing_is_bm25(index):
    plain, fed = models.bm25(index).toarray(), models.bm25_rm3(index, original=1.0).toarray()
    lengths = np.array([2.0, 3.0, 1.0])[:, np.newaxis]
    assert fed == pytest.approx(plain / lengths)


def test_fusion(index):
    expected = np.zeros((3, 5))
    for model in (models.bm25, models.character_ngrams, models.lm_jelinek_mercer):
        for row, scores in enumerate(model(index).toarray()):
            retrieved = sorted((d for d in range(5) if scores[d]), key=lambda d: (-scores[d], -d))
            for rank, document in enumerate(retrieved, start=1):
                expected[row, document] += 1 / (60 + rank)
    assert models.reciprocal_rank_fusion(index).toarray() == pytest.approx(expected)


@pytest.mark.parametrize("name", MODELS)
def test_a_query_of_unknown_words_finds_nothing(index, name):
    scores = MODELS[name](index)
    assert scores.shape == (3, 5)
    assert np.isfinite(scores.data).all()
    assert scores.toarray()[2] == pytest.approx(np.zeros(5))


def test_largest_keeps_the_same_of_equal_cells_whatever_their_order(index):
    scores = models.bm25(index)
    scores.data[:] = 1.0
    shuffled = scores[:, ::-1][:, ::-1]
    for matrix in (scores, shuffled):
        kept = largest(matrix, 2)
        for row in range(3):
            there = np.sort(scores[[row]].indices)[::-1][:2]
            assert kept.indices[kept.indptr[row] : kept.indptr[row + 1]].tolist() == there.tolist()


def test_cosines_stay_below_one(index):
    assert models.tfidf(index).data.max() <= 1 + 1e-12
    assert sqrt(models.tfidf(index).data.max()) > 0

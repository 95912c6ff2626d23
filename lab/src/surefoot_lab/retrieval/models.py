"""Retrieval models: functions from an index to a sparse queries × documents matrix of scores.

A cell that is not stored means that the document shares no term with the query and is not retrieved. All queries are
scored by one product of sparse matrices, queries × terms and terms × documents. In the formulas, the sum runs over
the terms t that query q and document d share: f the frequency of t in d, qf in q, n the number of documents with t,
F the frequency of t in all N documents, |d| the length of d, avg the mean length.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from surefoot._typing import FloatArray
from surefoot_lab.retrieval.index import Field, Index, Sparse, largest, repeat_rows, with_values

Model = Callable[[Index], Sparse]


def bm25(index: Index, k1: float = 0.9, b: float = 0.4) -> Sparse:
    """Okapi BM25: Σ qf · ln(1 + (N - n + ½) / (n + ½)) · f · (k1 + 1) / (f + k1 · (1 - b + b · |d| / avg)).

    Robertson and others, "Okapi at TREC-3" (1994), with the logarithm that stays positive for frequent terms; k1 =
    0.9 and b = 0.4 after Trotman, Jia and Crane, "Towards an efficient and effective search engine" (2012).
    """
    return field_bm25(index.text, k1, b)


def field_bm25(field: Field, k1: float = 0.9, b: float = 0.4) -> Sparse:
    """BM25 over one field."""
    return field.queries @ _bm25_weights(field, k1, b).T


def _bm25_weights(field: Field, k1: float = 0.9, b: float = 0.4) -> Sparse:
    f, document, term = field.postings
    norm = k1 * (1 - b + b * field.lengths / (field.mean_length or 1.0))  # any value where no document has a term
    return with_values(field.counts, field.idf[term] * f * (k1 + 1) / (f + norm[document]))


def names(index: Index) -> Sparse:
    """BM25 over only the names of the documents, as in a search by identifier."""
    return field_bm25(index.names)


def weighted_names(index: Index, weight: float = 3.0) -> Sparse:
    """BM25 in which a term in the name counts as ``weight`` more in the text.

    Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields" (CIKM 2004): frequencies
    are weighted and added before they saturate, not the scores after.
    """
    both = Field(index.text.counts + weight * index.names.counts, index.text.queries)
    return field_bm25(both)


def tfidf(index: Index) -> Sparse:
    """Cosine of the vectors of (1 + ln f) · (1 + ln((1 + N) / (1 + n))).

    Salton and Buckley, "Term-weighting approaches in automatic text retrieval" (1988), smoothed as in scikit-learn's
    `TfidfVectorizer(sublinear_tf=True)`.
    """
    return _cosine(index.text)


def character_ngrams(index: Index) -> Sparse:
    """The same cosine over character 4-grams of terms: matches other forms of a word, and similar words.

    McNamee and Mayfield, "Character n-gram tokenization for European language text retrieval" (2004).
    """
    return _cosine(index.grams)


def _cosine(field: Field) -> Sparse:
    idf = 1 + np.log((1 + field.size) / (1 + field.document_frequency))
    documents, queries = (_unit_rows(matrix, idf) for matrix in (field.counts, field.queries))
    return queries @ documents.T


def _unit_rows(counts: Sparse, idf: FloatArray) -> Sparse:
    weights = with_values(counts, (1 + np.log(counts.data)) * idf[counts.indices])
    norms = np.sqrt((weights * weights).sum(axis=1))
    return with_values(weights, weights.data / repeat_rows(norms, weights))


def lm_dirichlet(index: Index, mu: float = 100.0) -> Sparse:
    """Query likelihood with Dirichlet smoothing: Σ qf · ln(1 + f / (μ · p)) + |q| · ln(μ / (|d| + μ)), p = F / Σ F.

    Zhai and Lafferty, "A study of smoothing methods for language models" (SIGIR 2001). Their μ = 2000 suits news;
    here it is of the order of a document's length, as there.
    """
    field = index.text
    f, _, term = field.postings
    share = field.collection_frequency / field.collection_frequency.sum()
    scores = field.queries @ with_values(field.counts, np.log1p(f / (mu * share[term]))).T
    penalties = np.log(mu / (field.lengths + mu))
    lengths = repeat_rows(field.queries.sum(axis=1), scores)
    return with_values(scores, scores.data + lengths * penalties[scores.indices])


def lm_jelinek_mercer(index: Index, smoothing: float = 0.7) -> Sparse:
    """Query likelihood with linear smoothing: Σ qf · ln(1 + (1 - λ) / λ · (f / |d|) / p), p = F / Σ F.

    Zhai and Lafferty (SIGIR 2001); λ = 0.7 is theirs for queries that are sentences.
    """
    field = index.text
    f, document, term = field.postings
    share = field.collection_frequency / field.collection_frequency.sum()
    ratio = (1 - smoothing) / smoothing * f / (field.lengths[document] * share[term])
    return field.queries @ with_values(field.counts, np.log1p(ratio)).T


def pl2(index: Index, c: float = 1.0) -> Sparse:
    """Divergence from a Poisson model: Σ qf / (x + 1) · (x · log2(x / λ) + (λ - x) · log2(e) + ½ · log2(2π · x)).

    x = f · log2(1 + c · avg / |d|) is the frequency at mean length, λ = F / N. Amati and van Rijsbergen,
    "Probabilistic models of information retrieval based on measuring the divergence from randomness" (TOIS 2002).
    """
    field = index.text
    f, document, term = field.postings
    x = f * np.log2(1 + c * field.mean_length / field.lengths[document])
    mean = field.collection_frequency[term] / field.size
    surprise = x * np.log2(x / mean) + (mean - x) / np.log(2) + 0.5 * np.log2(2 * np.pi * x)
    return field.queries @ with_values(field.counts, surprise / (x + 1)).T


def bm25_rm3(index: Index, documents: int = 10, terms: int = 10, original: float = 0.5) -> Sparse:
    """BM25 with pseudo-relevance feedback: terms of the best documents of a first pass expand the query.

    RM3: a term's weight is ``original`` · qf / |q| + (1 - ``original``) · Σ s(d) · f / |d|, over the ``documents``
    best d with scores s normalised to sum 1; the ``terms`` heaviest terms are kept and normalised to sum 1.
    Lavrenko and Croft, "Relevance-based language models" (SIGIR 2001); Abdul-Jaleel and others, "UMass at TREC 2004".
    """
    field = index.text
    weights = _bm25_weights(field)
    feedback = _normalise_rows(largest(field.queries @ weights.T, documents))
    expansion = _normalise_rows(largest(feedback @ _normalise_rows(field.counts), terms))
    return (original * _normalise_rows(field.queries) + (1 - original) * expansion) @ weights.T


def _normalise_rows(matrix: Sparse) -> Sparse:
    """The matrix with rows that sum to 1 (or are empty)."""
    return with_values(matrix, matrix.data / repeat_rows(matrix.sum(axis=1), matrix))


def reciprocal_rank_fusion(index: Index, k: int = 60, depth: int = 100) -> Sparse:
    """BM25, n-grams and a language model fused by rank: Σ 1 / (k + rank of d), over the rankings that have d.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet" (SIGIR 2009).
    """
    rankings = [largest(model(index), depth) for model in (bm25, character_ngrams, lm_jelinek_mercer)]
    return sum((_reciprocal_ranks(ranking, k) for ranking in rankings[1:]), _reciprocal_ranks(rankings[0], k))


def _reciprocal_ranks(ranking: Sparse, k: int) -> Sparse:
    ranks = 1 + np.arange(ranking.nnz) - repeat_rows(ranking.indptr[:-1], ranking)
    return with_values(ranking, 1 / (k + ranks))


MODELS: dict[str, Model] = {
    "BM25": bm25,
    "BM25-long": partial(bm25, k1=1.2, b=0.75),
    "BM25+names": weighted_names,
    "BM25+RM3": bm25_rm3,
    "TFIDF": tfidf,
    "LM-Dir": lm_dirichlet,
    "LM-JM": lm_jelinek_mercer,
    "PL2": pl2,
    "chargrams": character_ngrams,
    "names": names,
    "fusion": reciprocal_rank_fusion,
}
"""All models, by name."""

"""The learned baselines on 2,000 queries × 120 documents × 136 features: seconds, and NDCG@10 on training queries."""

from __future__ import annotations

import time

import numpy as np
from surefoot_lab.learners.line_search import QueryNDCG
from surefoot_lab.learners.linear import AFS, AdaRank, CoordinateAscent
from surefoot_lab.learners.trees import LambdaMART, RegressionTrees

from surefoot.learn.data import RankingData

QUERIES, DOCUMENTS, FEATURES, USEFUL = 2_000, 120, 136, 25
LEARNERS = {learner.__name__: learner for learner in (AdaRank, AFS, CoordinateAscent, RegressionTrees, LambdaMART)}


def main() -> None:
    data = generated(QUERIES)
    queries = QueryNDCG(data, k=10, n_jobs=None)
    print(f"{QUERIES:,} × {DOCUMENTS} × {FEATURES}, default parameters")
    for name, learner in LEARNERS.items():
        begin, begin_cpu = time.perf_counter(), time.process_time()
        model = learner().fit(data.features, data.labels, qid=data.query_of_row)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
        ndcg = queries.mean(queries.select(model.predict(data.features)))
        print(f"  {name:<20} {seconds:7.1f} s, {cpu:7.1f} s of processors, NDCG@10 {ndcg:.4f}", flush=True)


def generated(queries: int) -> RankingData:
    """Half of the features have heavy tails as counts do, some are often 0; a few determine the labels, with noise."""
    random = np.random.default_rng(2007)
    rows = queries * DOCUMENTS
    features = random.normal(size=(rows, FEATURES)).astype(np.float32)
    features[:, : FEATURES // 2] = np.exp(1.5 * features[:, : FEATURES // 2])
    features[:, :20] *= random.random((rows, 20)) < 0.5
    weights = np.zeros(FEATURES)
    weights[random.choice(FEATURES, USEFUL, replace=False)] = random.normal(scale=0.5, size=USEFUL)
    merit = np.sign(features) * np.log1p(np.abs(features)) @ weights + random.normal(scale=2.5, size=rows)
    labels = np.searchsorted(np.quantile(merit, [0.55, 0.85, 0.97, 0.993]), merit)
    return RankingData.of(features, labels, np.repeat(np.arange(queries), DOCUMENTS))


if __name__ == "__main__":
    main()

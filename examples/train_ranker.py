"""Train two rankers on generated data, one for the mean alone and one that avoids risk, and compare their losses.

Run it with `python examples/train_ranker.py [FOLDER]`; the careful one is saved to the folder.
"""

import sys

import numpy as np

from surefoot import Scores, evaluate
from surefoot.learn import RiskRanker
from surefoot.show import render


def queries(seed: int, count: int, size: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and query ids. Feature 0 is what ranks today; a third of the queries need nothing else."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count * size, 6))
    qid = np.repeat(np.arange(count), size)
    easy = np.repeat(random.random(count) < 1 / 3, size)
    merit = X[:, 0] + np.where(easy, 0, X[:, 1] + X[:, 2]) + random.normal(scale=0.4, size=len(X))
    return X, np.digitize(merit, [1, 2, 3]), qid


def main(folder: str | None) -> None:
    """Train, evaluate on queries that neither ranker has seen, save."""
    X, y, qid = queries(0, 120)
    held_out = queries(1, 40)
    X_test, y_test, qid_test = queries(2, 200)
    today = "feature:0"
    rankers = {
        "plain": RiskRanker("lambdamart", n_estimators=60, num_leaves=8, random_state=0, n_jobs=1),
        "careful": RiskRanker("ucro", alpha=5, n_estimators=60, num_leaves=8, random_state=0, n_jobs=1),
    }
    rows = {}
    for name, ranker in rankers.items():
        ranker.fit(X, y, qid=qid, baseline=today, eval_set=held_out)
        scores = ranker.scores(X_test, y_test, qid_test, today, name)
        rows |= dict(zip(scores.systems, scores.values, strict=True))
    table = Scores(np.stack(list(rows.values())), list(rows), scores.topics, scores.measure)
    print(render(evaluate(table, baseline=today, alpha=5), "table"))
    if folder is not None:
        rankers["careful"].save(folder)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)

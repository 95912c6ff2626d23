"""Linear rankers with a risk measure as their utility, on unseen queries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.objectives import interval
from studies.splits import Split, names, splits
from surefoot.learn.baseline import baselines_of
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot.learn.validation import Validation
from surefoot.results import Result, by_column, signature
from surefoot.risk import compare
from surefoot.scores import FloatArray

ALPHA, SEED = 5.0, 1
RANKERS = {
    "AFS for the mean": ("afs", "lambdamart", {}),
    "AFS for U_Risk": ("afs", "ucro", {}),
    "AFS for T_Risk": ("afs", "trisk", {}),
    "AFS for GeoRisk": ("afs", "georisk", {}),
    "coordinate ascent for the mean": ("coordinate-ascent", "lambdamart", {}),
    "coordinate ascent for U_Risk": ("coordinate-ascent", "ucro", {}),
    "coordinate ascent for T_Risk": ("coordinate-ascent", "trisk", {}),
    "coordinate ascent for GeoRisk": ("coordinate-ascent", "georisk", {}),
    "AdaRank as published": ("adarank", "lambdamart", {}),
    "AdaRank, improving": ("adarank", "lambdamart", {"improving": True}),
    "regression trees": ("regression-trees", "lambdamart", {}),
}


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    name = "mq2008" if "mq2008" in names() else "demo"
    parts = list(splits(name))[: max(1, 5 // less)]
    found = {
        ranker: np.concatenate([tested(split, *how) for split in parts], axis=1) for ranker, how in RANKERS.items()
    }
    rows = []
    for ranker, (x, b) in found.items():
        reference, _ = found[
            next(iter(found)) if not ranker.startswith("coordinate") else "coordinate ascent for the mean"
        ]
        compared = compare(x, b)
        rows.append(
            {
                "ranker": ranker, "ndcg@10": f"{x.mean():.4f}", "against the mean's": interval(x - reference),
                "frisk": f"{compared.frisk:.4f}",
                "change of frisk": interval(np.maximum(b - x, 0) - np.maximum(b - reference, 0)),
                "losses": int(compared.losses.n), "loss20": int(compared.loss20),
            }
        )  # fmt: skip
    stated = signature("linear", data=name, folds=len(parts), alpha=ALPHA, topics=x.size, seed=SEED)
    yield f"Linear rankers on {name}: {len(parts)} test fold(s)", Result(stated, by_column(rows))


def tested(split: Split, learner: str, objective: str, params: dict[str, object]) -> FloatArray:
    """NDCG@10 of the test queries, of the ranker that is best in validation by its own utility, and of the baseline."""
    settings = Settings(
        objective, ALPHA, learner=learner, params=params, n_estimators=100, learning_rate=0.05, num_leaves=15, seed=SEED
    )
    model = train(split.train, split.baseline, settings, valid=split.valid).model
    validation = Validation.of(Settings(), split.test, baselines_of(split.baseline, split.test))
    print(f"{learner} {objective}: done", flush=True)
    return validation.scores("x", model.predict(split.test)).values

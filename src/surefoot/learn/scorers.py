"""A scorer of scikit-learn that selects rankers by their risk."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.metrics._scorer import _BaseScorer

from surefoot.errors import SurefootError, did_you_mean
from surefoot.learn.validation import validation_measures
from surefoot.risk import measures as m


class RiskScorer(_BaseScorer):  # type: ignore[misc]
    """The scorer that `risk_scorer` makes."""

    def __init__(self, name: str, baseline: Any) -> None:
        risk = validation_measures(m.URISK)[name]
        super().__init__(score_func=risk, sign=1 if risk.higher_is_better else -1, kwargs={})
        self.name, self.baseline = name, baseline
        if get_config()["enable_metadata_routing"]:
            self.set_score_request(qid=True)

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **given: Any) -> float:
        if hasattr(estimator, "steps"):
            X, estimator = estimator[:-1].transform(X), estimator[-1]
        value = estimator.evaluate(X, y_true, given.get("qid"), given.get("baseline", self.baseline))[self.name]
        return float(self._sign * value)

    def __repr__(self) -> str:
        return f"risk_scorer({self.name!r}, baseline={self.baseline!r})"


def risk_scorer(name: str = "urisk", baseline: Any = None) -> RiskScorer:
    """A scorer for GridSearchCV and the like: a risk measure of a `RiskRanker`, or of a pipeline that ends in one.

    Parameters
    ----------
    name : str
        ``"urisk"``, ``"trisk"``, ``"georisk"``, ``"tail"``, ``"frisk"``, ``"losses"`` ...; the sign is inverted if
        less is better.
    baseline
        As in `RiskRanker.fit`, but known for any rows: a feature such as ``"feature:0"``, or a model. In a pipeline,
        features are those that reach the ranker. Scores of rows can be routed, by
        ``set_score_request(baseline=True)``.

    Returns
    -------
    callable
        With metadata routing it requests ``qid``.

    Examples
    --------
    >>> risk_scorer("trisk", baseline="feature:0")
    risk_scorer('trisk', baseline='feature:0')
    """
    known = validation_measures(m.URISK)
    if name not in known:
        hint = did_you_mean(name, known)
        raise SurefootError(f"no risk measure {name!r} of a ranker{hint}; there are {', '.join(known)}")
    return RiskScorer(name, baseline)

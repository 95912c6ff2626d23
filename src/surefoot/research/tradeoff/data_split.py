"""The data of a trade-off: queries to train, validate and test on, and the baseline of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import SurefootError
from surefoot.learn.baseline import Baselines, Missing, baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.settings import Settings


@dataclass(frozen=True, eq=False)
class DataSplit:
    """Training, validation and test queries with their baseline.

    Parameters
    ----------
    train, valid, test
        The queries; validation and test queries are optional.
    baseline
        What models are compared with, on all sets: ``feature:N``, a run, scores or a model, or a list of several.
    missing
        What happens to documents that a run lacks: ``error``, or ``last`` to rank them last.

    Examples
    --------
    >>> data = RankingData.of([[1.0], [2.0]], [0, 1], ["a", "a"])
    >>> DataSplit(data, "feature:0").baselines(data).names
    ('feature:0',)

    """

    train: RankingData
    baseline: Any
    valid: RankingData | None = None
    test: RankingData | None = None
    missing: Missing = "error"
    _baselines: dict[str, Baselines] = field(init=False, default_factory=dict, repr=False)

    @classmethod
    def read(
        cls,
        train: Sequence[PathLike],
        baseline: Any,
        valid: Sequence[PathLike] = (),
        test: Sequence[PathLike] = (),
        missing: Missing = "error",
    ) -> DataSplit:
        """Read the sets from LETOR files; all get as many features as the widest has."""
        from surefoot.io.letor import read_letor
        from surefoot.learn.feature_alignment import same_features

        files = {"train": train, "valid": valid, "test": test}
        found = {name: read_letor(list(paths)) for name, paths in files.items() if paths}
        widened = dict(zip(found, same_features(list(found.values())), strict=True))
        return cls(widened["train"], baseline, widened.get("valid"), widened.get("test"), missing)

    def baselines(self, data: RankingData) -> Baselines:
        """The baselines on one of the sets, resolved once."""
        if data.fingerprint not in self._baselines:
            found = baselines_of(self.baseline, data, self.missing)
            if not found.names:
                raise SurefootError("risk and gain are against a baseline; name one, as feature:25")
            self._baselines[data.fingerprint] = found
        return self._baselines[data.fingerprint]

    def resolve(self, settings: Settings) -> Settings:
        """Settings with ERR's scale of grades, that of the training data, so that all sets are measured alike."""
        if settings.metric != "err" or settings.max_label is not None:
            return settings
        return replace(settings, max_label=int(self.train.labels.max(initial=0)))

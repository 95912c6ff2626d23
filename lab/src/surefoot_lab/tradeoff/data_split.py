"""The data of a trade-off: queries to train, validate and test on, and the baseline of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import SurefootError
from surefoot.learn.baseline import Baselines, Missing, baseline_for, baselines_of
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
        What models are compared with, on all sets: anything that `surefoot.learn.baselines_of` takes.
    missing
        What happens to documents that a run lacks: ``error``, or ``last`` to rank them last.
    valid_baseline, test_baseline
        The baselines of these sets, where ``baseline`` is known only for the training queries, as a file of scores.

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
    valid_baseline: Any = None
    test_baseline: Any = None
    _baselines: dict[str, Baselines] = field(init=False, default_factory=dict, repr=False)

    @classmethod
    def read(
        cls,
        train: Sequence[PathLike],
        baseline: Any,
        valid: Sequence[PathLike] = (),
        test: Sequence[PathLike] = (),
        **more: Any,
    ) -> DataSplit:
        """Read the sets from LETOR files; all get as many features as the widest has. ``more`` are other fields."""
        from surefoot.learn.data import same_features
        from surefoot.learn.letor import read_letor

        files = {"train": train, "valid": valid, "test": test}
        found = {name: read_letor(list(paths)) for name, paths in files.items() if paths}
        widened = dict(zip(found, same_features(list(found.values())), strict=True))
        return cls(widened["train"], baseline, widened.get("valid"), widened.get("test"), **more)

    def baselines(self, data: RankingData) -> Baselines:
        """The baselines on one of the sets, resolved once."""
        role = next(name for name in ("train", "valid", "test") if data is getattr(self, name))
        if role not in self._baselines:
            found = baselines_of(self._given(role), data, self.missing)
            if not found.names:
                raise SurefootError("risk and gain are against a baseline; name one, as feature:25")
            self._baselines[role] = found
        return self._baselines[role]

    def _given(self, role: str) -> Any:
        if role == "train":
            return self.baseline
        own, queries = (self.valid_baseline, "validation") if role == "valid" else (self.test_baseline, "test")
        return baseline_for(queries, own, self.baseline)

    def resolve(self, settings: Settings) -> Settings:
        """Settings with ERR's scale of grades, that of the training data, so that all sets are measured alike."""
        if settings.metric != "err" or settings.max_label is not None:
            return settings
        return replace(settings, max_label=int(self.train.labels.max(initial=0)))

"""A pytest fixture: ``def test_search(surefoot): surefoot.gate(runs, qrels, baseline="old", candidate="new")``."""

from __future__ import annotations

from typing import Any

import pytest


class Checks:
    """The checks of the fixture ``surefoot``."""

    def gate(self, scores: Any, qrels: Any = None, measure: object = "nDCG@10", **options: Any) -> Any:
        """Fail the test if the candidate may not replace the baseline.

        Parameters
        ----------
        scores, qrels, measure
            Anything that `Scores.of` takes; or runs, with judgments and a measure, as in `surefoot.score_runs`.
        **options
            ``baseline``, ``candidate`` and the other parameters of `surefoot.gate`; ``rules={"undecided": "fail"}``
            also fails the test if the evidence is not enough.

        Returns
        -------
        GateResult
        """
        from surefoot import gate, score_runs

        result = gate(scores if qrels is None else score_runs(scores, qrels, measure), **options)
        if result.exit_code:
            pytest.fail(str(result), pytrace=False)
        return result


@pytest.fixture(scope="session")
def surefoot() -> Checks:
    """Checks of rankings: ``surefoot.gate(...)``."""
    return Checks()

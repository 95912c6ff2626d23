"""A pytest fixture: ``def test_search(surefoot): surefoot.gate(runs, qrels, baseline="old", candidate="new")``."""

from __future__ import annotations

from typing import Any

import pytest


class Checks:
    """What the fixture ``surefoot`` offers."""

    def gate(
        self,
        scores: Any,
        qrels: Any = None,
        measure: object = "nDCG@10",
        *,
        baseline: Any,
        candidate: str,
        rules: Any = None,
        segments: Any = None,
        assessors: object = None,
        acknowledged: Any = None,
    ) -> Any:
        """Fail the test if the candidate may not replace the baseline.

        Parameters
        ----------
        scores, qrels, measure
            `Scores` or what they can be made of; or runs, with judgments and measure as in `surefoot.score_runs`.
        baseline, candidate, rules, segments, assessors, acknowledged
            As in `surefoot.gate`; ``rules={"undecided": "fail"}`` also fails the test if the evidence is not enough.

        Returns
        -------
        GateResult
        """
        from surefoot import gate, score_runs

        found = scores if qrels is None else score_runs(scores, qrels, measure)
        result = gate(
            found, baseline, candidate=candidate, rules=rules, segments=segments, assessors=assessors,
            acknowledged=acknowledged,
        )  # fmt: skip
        if result.exit_code:
            pytest.fail(str(result), pytrace=False)
        return result


@pytest.fixture(scope="session")
def surefoot() -> Checks:
    """Checks of rankings: ``surefoot.gate(...)``."""
    return Checks()

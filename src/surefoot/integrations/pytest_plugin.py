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
    ) -> Any:
        """Fail the test if the candidate may not replace the baseline.

        Parameters
        ----------
        scores, qrels, measure
            `Scores` or what they can be made of; or runs, with judgments and measure as in `surefoot.score_runs`.
        baseline, candidate, rules
            As in `surefoot.gate`; ``rules={"undecided": "fail"}`` also fails the test where the gate can't tell.

        Returns
        -------
        GateResult
        """
        from surefoot import gate, score_runs

        found = scores if qrels is None else score_runs(scores, qrels, measure)
        result = gate(found, baseline, candidate=candidate, rules=rules)
        if result.exit_code:
            pytest.fail(str(result), pytrace=False)
        return result


@pytest.fixture(scope="session")
def surefoot() -> Checks:
    """Checks of rankings: ``surefoot.gate(...)``."""
    return Checks()

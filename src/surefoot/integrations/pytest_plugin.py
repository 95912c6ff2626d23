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
        strict: bool = False,
    ) -> Any:
        """Fail the test if the candidate may not replace the baseline.

        Parameters
        ----------
        scores, qrels, measure
            `Scores` or what they can be made of; or runs, with judgements and measure as in `surefoot.score_runs`.
        baseline, candidate, rules
            As in `surefoot.gate`; ``rules`` may be a dictionary.
        strict
            Whether warnings fail too.

        Returns
        -------
        GateResult
        """
        from surefoot import Rules, Scores, gate, score_runs

        found = Scores.of(scores) if qrels is None else score_runs(scores, qrels, measure)
        chosen = Rules(**rules) if isinstance(rules, dict) else rules
        result = gate(found, baseline, candidate=candidate, rules=chosen)
        if result.exit_code or (strict and result.verdict != "pass"):
            pytest.fail(str(result), pytrace=False)
        return result


@pytest.fixture(scope="session")
def surefoot() -> Checks:
    """Checks of rankings: ``surefoot.gate(...)``."""
    return Checks()

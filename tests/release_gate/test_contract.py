"""Rules about single queries: facts that fail, unless they are acknowledged or unjudged documents could undo them."""

from datetime import date

import numpy as np
import pytest

from surefoot.release_gate.acknowledged import Acknowledged, Loss
from surefoot.release_gate.comparison import Contract
from surefoot.release_gate.doubt import Doubt
from surefoot.release_gate.finding import Finding
from surefoot.release_gate.rules import Rules
from tests.release_gate.pairs import pair_of

DELTA = [-0.05, -0.051, 0.3, -0.4]
PAIR = pair_of(DELTA)


def findings(
    acknowledged: Acknowledged | None = None,
    doubt: Doubt | None = None,
    emptied: tuple[str, ...] | None = None,
    **rules: object,
) -> dict[str, Finding]:
    found = Contract(PAIR, Rules(**rules), emptied, acknowledged, doubt).findings()  # type: ignore[arg-type]
    return {one.rule: one for one in found}


def acknowledged(topic: str, base: float, own: float) -> Acknowledged:
    loss = Loss(topic, "nDCG@10", base, own, "moved away", date(2026, 1, 31))
    return Acknowledged({(topic, "nDCG@10"): loss})


def doubt_of(highest: list[float], unjudged: dict[int, list[str]]) -> Doubt:
    documents = tuple(tuple((f"q{i}", one) for one in unjudged.get(i, [])) for i in range(len(DELTA)))
    measured = np.array(DELTA)
    return Doubt(measured[None], np.array(highest), documents, "")


def test_a_protected_query_may_lose_its_tolerance() -> None:
    assert findings() == {}
    assert findings(protected=["q0", "q2"])["protected"].verdict == "pass"
    found = findings(protected=["q0", "q1", "q3"])["protected"]
    assert (found.verdict, found.where, found.limit) == ("fail", "q3", 0.05)
    assert found.loss == pytest.approx(0.4)
    assert all(word in found.sentence for word in ("2 of 3", "q3 (-0.4000)", "q1 (-0.0510)"))
    assert findings(protected=["q3"], protected_tolerance=0.4)["protected"].verdict == "pass"
    assert findings(protected=["q3"], off=["protected"]) == {}


def test_any_query_may_lose_so_much() -> None:
    assert findings(max_query_loss=0.4)["query-loss"].verdict == "pass"
    found = findings(max_query_loss=0.05)["query-loss"]
    assert (found.verdict, found.where) == ("fail", "q3")
    assert findings(max_query_loss=0.05, off=["query-loss"]) == {}


def test_queries_without_results() -> None:
    assert findings(emptied=())["no-results"].verdict == "pass"
    found = findings(emptied=("q1", "q3"))["no-results"]
    assert (found.verdict, found.where, found.loss) == ("fail", "q1", 0.5)
    assert "q3" in found.sentence
    assert findings(emptied=("q1",), off=["no-results"]) == {}


def test_acknowledged_losses_do_not_fail_and_keep_their_reason() -> None:
    known = acknowledged("q3", 0.5, 0.1)
    found = findings(known, protected=["q3"])["protected"]
    assert found.verdict == "pass"
    assert "q3 (moved away)" in found.sentence
    found = findings(known, protected=["q1", "q3"])["protected"]
    assert (found.verdict, found.where) == ("fail", "q1")
    assert findings(known, emptied=("q3",))["no-results"].verdict == "pass"
    assert findings(known, emptied=("q1", "q3"))["no-results"].where == "q1"


@pytest.mark.parametrize(("base", "own"), [(0.5, 0.2), (0.4, 0.1)])
def test_an_acknowledged_loss_expires_when_a_score_changes(base: float, own: float) -> None:
    assert findings(acknowledged("q3", base, own), protected=["q3"])["protected"].verdict == "fail"


def test_unjudged_documents_that_could_undo_a_loss_leave_it_undecided() -> None:
    """Those of q3 could bring it within the tolerance, those of q1 could not."""
    doubt = doubt_of([-0.05, -0.0505, 0.3, -0.05], {1: ["a"], 3: ["b", "c"]})
    found = findings(doubt=doubt, protected=["q3"])["protected"]
    assert (found.verdict, found.where, found.documents) == ("undecided", "q3", (("q3", "b"), ("q3", "c")))
    found = findings(doubt=doubt, protected=["q1", "q3"])["protected"]
    assert (found.verdict, found.where) == ("fail", "q1")
    assert findings(doubt=doubt, emptied=("q3",))["no-results"].verdict == "fail", "no document can undo that"

"""Strict evidence gives the verdicts of version 0.2."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from surefoot import gate
from tests.release_gate.strict_pairs import GOLDEN, random_cases, summary, trec_cases

VERDICTS: dict[str, str] = json.loads(GOLDEN.read_text())


def verdicts(cases: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, str]:
    found = {}
    for name, case in cases:
        rules = {"evidence": "strict"} | case.pop("rules", {})
        found[name] = summary(gate(**{"candidate": "new"} | case, rules=rules))
    return found


RANDOM = dict(random_cases())


@pytest.mark.parametrize("name", RANDOM)
def test_random_tables(name: str) -> None:
    assert verdicts([(name, RANDOM[name])]) == {name: VERDICTS[name]}


def test_pairs_of_trec_runs(data: Path) -> None:
    assert verdicts(trec_cases(data)) == {name: one for name, one in VERDICTS.items() if name not in RANDOM}


def test_all_verdicts_occur() -> None:
    assert {one.partition(":")[0] for one in VERDICTS.values()} == {"pass", "undecided", "fail"}

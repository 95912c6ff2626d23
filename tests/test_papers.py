"""The page of the papers is what its script makes now: commands, tests, pictures and cells are there."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_papers", ROOT / "docs" / "make_papers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_papers"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_makes(made: ModuleType, data: Path) -> None:
    assert (ROOT / "docs" / "studies" / "papers.md").read_text(encoding="utf-8") == made.page()


def test_a_command_that_is_not_there_is_seen(made: ModuleType) -> None:
    assert made.accepted("surefoot cross --scores a.csv --by-baseline")
    assert not made.accepted("surefoot cross --scores a.csv --by-nothing")
    assert not made.accepted("surefoot nothing")
    assert made.accepted(".venv/bin/python -m studies values")
    assert not made.accepted(".venv/bin/python -m studies nothing")


def test_missing_evidence_is_seen(made: ModuleType) -> None:
    for evidence in ("tests/test_papers.py::test_nothing", "docs/figures/nothing.png", "claim:sigir2014 nothing"):
        item = {"command": "", "evidence": evidence}
        assert made._state(item, []).startswith("**missing**")

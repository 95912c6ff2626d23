"""A gate's result as text, JSON, JUnit XML and Markdown, with names that try to break each."""

import json
import re
from xml.etree import ElementTree

import pytest

from surefoot import Scores, SurefootError
from surefoot._names import markdown
from surefoot.release_gate.gate import gate
from surefoot.release_gate.render import render_gate, render_json, render_junit, render_markdown, render_text
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.verdict import GateResult

HOSTILE = '<script>|`*_[x](http://y)_*`| & "quoted" \x07\x1b[31m\n# @team #12 $x$ ]]>'


def result_of(candidate: str = "new", baseline: str = "old", topic: str = "q") -> GateResult:
    old = [0.9, 0.8, 0.7, 0.6, 0.7, 0.8, 0.7, 0.6]
    new = [0.1, 0.2, 0.1, 0.3, 0.1, 0.2, 0.1, 0.7]
    topics = [f"{topic}{place}" for place in range(8)]
    segments = {name: f"{topic} segment {place % 2}" for place, name in enumerate(topics)}
    scores = Scores([old, new], [baseline, candidate], topics, "nDCG@10", notes=["a note"])
    return gate(scores, baseline, candidate=candidate, rules=Rules(protected=topics[:2]), segments=segments)


HOSTILE_RESULT = result_of(f"new {HOSTILE}", f"old {HOSTILE}", HOSTILE)


def test_json_is_one_object() -> None:
    found = json.loads(render_json(result_of()))
    assert {"signature", "verdict", "leans", "evidence", "exit_code", "headline", "reason", "next_step"} < set(found)
    assert {"resolution", "candidate", "measures", "rules", "worst", "changes", "notes"} < set(found)
    assert (found["verdict"], found["exit_code"], found["measures"]) == ("fail", 1, ["nDCG@10"])
    names = {"name", "measure", "baseline", "verdict", "sentence", "loss", "low", "high", "limit", "where"}
    assert set(found["rules"][0]) >= names | {"probability", "more_queries", "documents", "p"}
    assert {"protected", "mean", "segments"} < {rule["name"] for rule in found["rules"]}
    assert found["worst"][0] == {
        "topic": "q0",
        "measure": "nDCG@10",
        "baseline": "old",
        "baseline_score": 0.9,
        "candidate_score": 0.1,
        "delta": -0.8,
        "text": None,
    }
    assert json.loads(render_json(HOSTILE_RESULT))["candidate"] == HOSTILE_RESULT.candidate


@pytest.mark.parametrize("result", [result_of(), HOSTILE_RESULT])
def test_junit_has_the_usual_shape(result: GateResult) -> None:
    text = render_junit(result)
    root = ElementTree.fromstring(text.encode())
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    assert [child.tag for child in suite] == ["properties"] + ["testcase"] * len(result.findings)
    cases = suite.findall("testcase")
    failures = [case for case in cases if case.find("failure") is not None]
    for element in (root, suite):
        assert element.attrib.keys() >= {"name", "tests", "failures", "errors", "time"}
        assert int(element.attrib["tests"]) == len(cases)
        assert int(element.attrib["failures"]) == len(failures)
        assert float(element.attrib["time"]) == 0
    for case, finding in zip(cases, result.findings, strict=True):
        assert case.attrib.keys() == {"name", "classname", "time"}
        assert case.attrib["name"] == finding.rule
        assert [child.tag for child in case] == [
            {"fail": "failure", "undecided": "skipped", "pass": "system-out"}[finding.verdict]
        ]
        if finding.verdict == "fail":
            assert case[0].attrib.keys() == {"message", "type"}
            assert (case[0].text or "").startswith("loss ")


def test_junit_keeps_hostile_names_but_what_xml_can_not_hold() -> None:
    root = ElementTree.fromstring(render_junit(HOSTILE_RESULT).encode())
    kept = HOSTILE.replace("\x07", "\ufffd").replace("\x1b", "\ufffd")
    assert root[0].attrib["name"] == f"gate new {kept}"
    assert {case.attrib["classname"] for case in root.iter("testcase")} == {f"gate.old {kept}"}


@pytest.mark.parametrize(
    ("undecided", "tag"), [("warn", "skipped"), ("exit3", "skipped"), ("fail", "failure"), ("pass", "system-out")]
)
def test_what_can_not_be_decided_in_junit(undecided: str, tag: str) -> None:
    scores = Scores([[0.5, 0.5, 0.5], [0.1, 0.8, 0.5]], ["old", "new"], ["a", "b", "c"])
    result = gate(scores, "old", candidate="new", rules=Rules(undecided=undecided))
    root = ElementTree.fromstring(render_junit(result).encode())
    tags = [case[0].tag for case in root.iter("testcase")]
    open_rules = [one.rule for one in result.findings if one.verdict == "undecided"]
    assert open_rules
    assert tags == [tag if one.verdict == "undecided" else "system-out" for one in result.findings]
    assert root[0].attrib["skipped"] == str(tags.count("skipped"))
    assert root.attrib["failures"] == str(tags.count("failure"))


def test_several_measures_are_told_apart() -> None:
    both = [Scores([[0.5] * 9, [0.1] * 9], ["old", "new"], range(9), name) for name in ("RR", "nDCG@10")]
    result = gate(both, "old", candidate="new").with_texts({"0": "how to\ttie " + "a tie " * 20})
    root = ElementTree.fromstring(render_junit(result).encode())
    assert {case.attrib["classname"] for case in root.iter("testcase")} == {"gate.old.RR", "gate.old.nDCG@10"}
    text = render_text(result)
    assert text.startswith("don't ship: new against old, RR, nDCG@10")
    assert text.count("new is worse than old on average") == 2
    assert "0 how to tie a tie a tie" in text


def test_markdown_tells_verdict_changes_rules_and_the_worst_five() -> None:
    text = render_markdown(result_of())
    assert text.startswith("### ❌ Surefoot gate: don't ship: new against old, nDCG@10")
    assert "new is worse than old on average (nDCG@10 0.7250 → 0.2250, -0.5000), and 7 of 8 queries got worse" in text
    assert "| ❌ fail | protected | 2 of 2 protected queries lost" in text
    assert "The 5 of 7 losing queries that lost most:" in text
    assert "| q0 | 0.9000 | 0.1000 | -0.8000 |" in text
    assert len(re.findall(r"^\| q\d ", text, flags=re.MULTILINE)) == 5
    assert "Note: a note" in text


def cells(html: str) -> list[str]:
    return re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", html, flags=re.DOTALL)


def test_markdown_with_hostile_names_renders_as_the_same_tables() -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table")
    plain, hostile = (parser.render(render_markdown(one)) for one in (result_of(), HOSTILE_RESULT))
    assert hostile.count("<table>") == 2
    assert len(cells(hostile)) == len(cells(plain))
    for tag in ("<script", "<a ", "<em", "<h1", "<li"):
        assert tag not in hostile
    assert "&lt;script&gt;|`*_[x](http://y)_*`|" in hostile
    assert "@team" not in hostile
    assert "#12" not in hostile


@pytest.mark.parametrize(
    ("name", "shown"), [("PL2c1.0", "PL2c1.0"), ("nDCG@10", "nDCG@10"), ("a-b c", "a-b c"), ("a\nb", "a b")]
)
def test_ordinary_names_stay_readable(name: str, shown: str) -> None:
    assert markdown(name) == shown


@pytest.mark.parametrize("name", ["www.x.org", "me@x.org", "GH-12", "https://x.org", "@team", "a#12"])
def test_names_that_github_would_link_are_broken_up(name: str) -> None:
    assert "&#" in markdown(name)


def test_text_wraps_and_can_not_steer_a_terminal() -> None:
    text = render_text(HOSTILE_RESULT, width=80)
    assert "\x1b" not in text
    assert "\x07" not in text
    narrow = render_text(result_of(), width=60).splitlines()
    assert max(map(len, narrow[:-1])) <= 60
    assert narrow[0].startswith("don't ship: new against old, nDCG@10")
    assert "  q0       0.9000     0.1000   -0.8000" in narrow


def test_colour_only_where_asked() -> None:
    assert "\x1b[31mdon't ship" in render_text(result_of(), color=True)
    assert "\x1b" not in render_text(result_of())


def test_nothing_got_worse() -> None:
    better = gate(Scores([[0.1] * 300, [0.3] * 300], ["old", "new"], range(300)), "old", candidate="new")
    assert "No query got worse." in render_text(better)
    assert "No query got worse." in render_markdown(better)
    assert render_markdown(better).startswith("### ✅ Surefoot gate: ship: new")


def test_formats() -> None:
    for name in ("table", "json", "md"):
        assert render_gate(result_of(), name).endswith("\n")
    with pytest.raises(SurefootError, match="format must be one of table, json, md"):
        render_gate(result_of(), "xml")

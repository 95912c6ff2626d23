"""The result of a gate as text for a terminal, JSON, JUnit XML, and Markdown for a pull request."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING

from surefoot._lazy import LazyModule
from surefoot._names import json_text, markdown, one_line, wrapped, xml
from surefoot.errors import choose
from surefoot.release_gate.compare import Compared
from surefoot.release_gate.finding import Finding
from surefoot.release_gate.verdict import Change, GateResult, WorseQuery

if TYPE_CHECKING:
    from xml.etree import ElementTree
else:
    ElementTree = LazyModule("xml.etree.ElementTree")

FORMATS = ("table", "json", "md")
COLORS = {"pass": "32", "undecided": "33", "fail": "31"}
MARKS = {"pass": "✅", "undecided": "⚠️", "fail": "❌"}
ROOM = max(map(len, MARKS))
KEYS = (
    "signature verdict leans evidence exit_code headline sentence reason next_step resolution candidate measures rules "
    "worst changes cumulative loosened notes"
).split()
"""The keys of the JSON."""


def render_gate(result: GateResult, format: str = "table", *, width: int = 100, color: bool = False) -> str:
    """A gate's result in one of the formats table, json and md; it ends in a newline."""
    if choose(format, FORMATS, "format") == "table":
        return render_text(result, width=width, color=color)
    return render_json(result) if format == "json" else render_markdown(result)


def render_text(result: GateResult, *, width: int = 100, color: bool = False) -> str:
    """The verdict in words, what changed, each rule with its sentence, and the queries that lost most."""
    lines = [_colored(one_line(result.headline()), result.verdict, color)]
    for sentence in _answers(result):
        lines += _wrapped(one_line(sentence), "  ", width)
    for change in result.changes:
        lines += ["", *_wrapped(one_line(result.sentence(change)), "", width)]
        findings = result.against(change)
        room = max((len(finding.rule) for finding in findings), default=0)
        for finding in findings:
            head = f"  {_colored(f'{finding.verdict:{ROOM}}', finding.verdict, color)}  {finding.rule:{room}}  "
            wrapped = _wrapped(one_line(finding.sentence), " " * (2 + ROOM + 2 + room + 2), width)
            lines += [head + wrapped[0].lstrip(), *wrapped[1:]]
        lines += _worst_lines(result, change, width)
    lines += ["", *(line for note in result.notes for line in _wrapped(f"note: {one_line(note)}", "  ", width))]
    return "\n".join([*lines, one_line(result.signature)]) + "\n"


def render_json(result: GateResult) -> str:
    """One JSON object with the keys of `KEYS`."""
    rules = [{"name" if key == "rule" else key: value for key, value in asdict(one).items()} for one in result.findings]
    said = {"headline": result.headline(), "sentence": result.sentence() if result.changes else "", "rules": rules}
    return json_text({name: _plain(said[name] if name in said else getattr(result, name)) for name in KEYS})


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def render_markdown(result: GateResult) -> str:
    """For a pull-request comment: the verdict in words, what changed, the rules, the worst queries with both scores."""
    parts = [f"### {MARKS[result.verdict]} Surefoot gate: {markdown(result.headline())}\n"]
    parts.append("\n".join(markdown(sentence) for sentence in _answers(result) if sentence) + "\n")
    for change in result.changes:
        parts.append(f"{markdown(result.sentence(change))}\n")
        rows = [
            [f"{MARKS[one.verdict]} {one.verdict}", one.rule, markdown(one.sentence)] for one in result.against(change)
        ]
        parts.append(_markdown_table([":---"] * 3, ["verdict", "rule", "finding"], rows))
        parts.append(_markdown_worst(result, change))
    parts += [f"Note: {markdown(note)}\n" for note in result.notes]
    parts.append(f"<sub><code>{markdown(result.signature)}</code></sub>\n")
    return "\n".join(parts)


def render_junit(result: GateResult) -> str:
    """JUnit's XML: one test case for each comparison and rule, skipped if undecided, unless the gate fails it."""
    states = [_junit_state(result, finding) for finding in result.findings]
    counts = {"tests": str(len(states)), "failures": str(states.count("failure")), "errors": "0", "time": "0"}
    root = ElementTree.Element("testsuites", {"name": "surefoot gate", **counts})
    skipped = {"skipped": str(states.count("skipped"))}
    suite = ElementTree.SubElement(root, "testsuite", {"name": f"gate {xml(result.candidate)}", **counts, **skipped})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in {
        "signature": result.signature,
        "verdict": result.verdict,
        "measures": ", ".join(result.measures),
    }.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": xml(value)})
    for finding, state in zip(result.findings, states, strict=True):
        _junit_case(suite, finding, state, several=len(result.measures) > 1)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


HEADINGS = {
    "baseline_mean": "{baseline}",
    "candidate_mean": "{candidate}",
    "change": "change",
    "p_mean": "p (mean)",
    "wins": "won",
    "losses": "lost",
    "loss20": "lost > 20 %",
    "urisk": "U_Risk (alpha 1)",
}
"""The column headings of the numbers of a comparison."""


def render_compared(found: Compared, format: str = "table", *, width: int = 100, color: bool = False) -> str:
    """A comparison in one of the formats table, json and md: sentence, numbers, the worst queries, the next command."""
    if choose(format, FORMATS, "format") == "json":
        return json_text(found.to_dict())
    result, change = found.gate, found.gate.changes[0]
    pair = {"baseline": change.baseline, "candidate": result.candidate}
    heads = [heading.format(**pair) for heading in HEADINGS.values()]
    numbers = [_number(name, value) for name, value in found.numbers.items()]
    if format == "md":
        table = _markdown_table(["---:"] * len(heads), [markdown(head) for head in heads], [numbers])
        worst = _markdown_worst(result, change)
        notes = [f"Note: {markdown(note)}\n" for note in found.notes]
        ending = [f"Next: {markdown(result.next_step)}\n", f"    {one_line(found.next_command)}\n"]
        signature = f"<sub><code>{markdown(found.signature)}</code></sub>\n"
        return "\n".join([f"{markdown(found.sentence)}\n", table, worst, *ending, *notes, signature])
    heads = [textwrap.shorten(one_line(head), 24, placeholder="…") for head in heads]
    rooms = [max(len(head), len(cell)) for head, cell in zip(heads, numbers, strict=True)]
    sentence, *more = _wrapped(one_line(found.sentence), "", width)
    lines = [_colored(line, result.verdict, color) for line in (sentence, *more)]
    for cells in (heads, numbers):
        lines += [
            *[""] * (cells is heads),
            "  " + "  ".join(f"{cell:>{room}}" for cell, room in zip(cells, rooms, strict=True)),
        ]
    lines += ["", *_worst_lines(result, change, width), ""]
    lines += [line for note in found.notes for line in _wrapped(f"note: {one_line(note)}", "  ", width)]
    lines += _wrapped(f"Next: {one_line(result.next_step)}", "", width)
    return "\n".join([*lines, f"  {one_line(found.next_command)}", one_line(found.signature)]) + "\n"


def _number(name: str, value: float) -> str:
    if name in ("wins", "losses", "loss20"):
        return f"{value:,.0f}"
    if name == "p_mean":
        return "–" if value != value else "<0.001" if value < 0.0005 else f"{value:.3f}"
    return f"{value:+z.4f}" if name == "change" else f"{value:z.4f}"


def _junit_state(result: GateResult, finding: Finding) -> str:
    is_held = result.rules.undecided == "fail" or (result.rules.undecided == "hold" and finding.leans == "against")
    if finding.verdict == "fail" or (finding.verdict == "undecided" and is_held):
        return "failure"
    return "skipped" if finding.verdict == "undecided" and result.rules.undecided != "pass" else "system-out"


def _junit_case(suite: ElementTree.Element, finding: Finding, state: str, several: bool) -> None:
    classname = f"gate.{xml(finding.baseline)}{f'.{xml(finding.measure)}' if several else ''}"
    case = ElementTree.SubElement(suite, "testcase", {"classname": classname, "name": finding.rule, "time": "0"})
    sentence = xml(finding.sentence)
    if state == "failure":
        failure = ElementTree.SubElement(case, "failure", {"message": sentence, "type": finding.rule})
        numbers = {name: getattr(finding, name) for name in ("loss", "low", "high", "limit")}
        failure.text = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items() if value is not None)
    elif state == "skipped":
        ElementTree.SubElement(case, "skipped", {"message": f"undecided: {sentence}"})
    else:
        ElementTree.SubElement(case, "system-out").text = f"{finding.verdict}: {sentence}"


def _markdown_table(alignment: list[str], header: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in [header, alignment, *rows])


def _markdown_worst(result: GateResult, change: Change) -> str:
    worst = _worst_of(result, change)
    if not worst:
        return f"{result.worded('No query got worse.')}\n"
    rows = [
        [markdown(_named(one)), f"{one.baseline_score:.4f}", f"{one.candidate_score:.4f}", f"{one.delta:.4f}"]
        for one in worst
    ]
    header = [result.worded("query"), markdown(change.baseline), markdown(result.candidate), "change"]
    table = _markdown_table([":---", "---:", "---:", "---:"], header, rows)
    return f"{result.worded(_worst_title(worst, change))}\n\n{table}"


def _worst_lines(result: GateResult, change: Change, width: int) -> list[str]:
    worst = _worst_of(result, change)
    if not worst:
        return [f"  {result.worded('No query got worse.')}"]
    most = max(width - 34, 10)
    topics = [textwrap.shorten(one_line(_named(one)), most, placeholder="…") for one in worst]
    head = result.worded("query")
    room = max(len(topic) for topic in (*topics, head))
    rows = [
        f"  {topic:{room}}  {one.baseline_score:8.4f}  {one.candidate_score:9.4f}  {one.delta:8.4f}"
        for topic, one in zip(topics, worst, strict=True)
    ]
    title = result.worded(_worst_title(worst, change))
    return [title, f"  {head:{room}}  {'baseline':>8}  candidate  {'change':>8}", *rows]


def _answers(result: GateResult) -> tuple[str, str, str]:
    """The reason of the verdict, the next step, and what this number of queries can show."""
    return result.reason, result.next_step, result.worded(str(result.resolution or ""))


def _worst_of(result: GateResult, change: Change) -> list[WorseQuery]:
    return [one for one in result.worst if (one.measure, one.baseline) == (change.measure, change.baseline)]


def _named(query: WorseQuery) -> str:
    """A query with the beginning of its text, where that is known."""
    return query.topic if query.text is None else f"{query.topic} {textwrap.shorten(query.text, 50, placeholder='…')}"


def _worst_title(worst: list[WorseQuery], change: Change) -> str:
    if len(worst) == change.losses:
        return f"{'The query' if len(worst) == 1 else f'All {len(worst)} queries'} that lost:"
    return f"The {len(worst)} of {change.losses:,} losing queries that lost most:"


def _colored(text: str, verdict: str, color: bool) -> str:
    return f"\x1b[{COLORS[verdict]}m{text}\x1b[0m" if color else text


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return wrapped(text, max(width, 40), indent, indent)

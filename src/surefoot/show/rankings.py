"""Two rankings of a query side by side, as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot._names import one_line, visible
from surefoot.analysis.documents import DocumentMoves, Move, TopicMoves

UNJUDGED = "?"
NAMED = 3
"""How many of the most costly moves, and of those that gained most, are described."""

Texts = Mapping[str, str]


def side_by_side(
    found: DocumentMoves,
    queries: Texts | None = None,
    texts: Texts | None = None,
    width: int = 100,
    doubts: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """For each topic its change, the moves that cost and gained most, and both rankings.

    ``doubts`` has the columns of `credibility` and `delta_bounds` by topic; they follow the change, in words.
    """
    blocks = [
        _block(one, found, (queries or {}).get(one.topic, ""), texts or {}, width, (doubts or {}).get(one.topic, {}))
        for one in found.topics
    ]
    notes = [f"note: {note}" for note in found.notes]
    legend = (
        f"grade {UNJUDGED}: not judged; a contribution stands at the new rank, or at the old one if the document left"
    )
    return visible("\n".join([*blocks, legend, *notes, found.signature]) + "\n")


def describe(move: Move) -> str:
    """A move in words.

    >>> describe(Move("d7", 1, 9, "fell", 3, -0.125))
    'd7 (grade 3) fell from 1 to 9: -0.1250'
    """
    grade = "not judged" if move.grade is None else f"grade {move.grade}"
    start, end = (str(rank) if rank else None for rank in (move.baseline_rank, move.system_rank))
    way = {
        "rose": f"rose from {start or 'nowhere'} to {end}",
        "fell": f"fell from {start} to {end or 'nowhere'}",
        "in": f"came in at {end}" + (f" from {start}" if start else ""),
        "out": f"went out from {start}" + (f" to {end}" if end else ""),
        "same": f"stayed at {end}",
    }[move.change]
    return f"{move.document} ({grade}) {way}: {move.contribution:+.4f}"


def describe_doubts(doubts: Mapping[str, Any]) -> list[str]:
    """The doubts about a topic's judgments, in words.

    >>> describe_doubts({"p_loss": 0.725, "low": -0.31, "high": 0.04, "credible": "unclear"})
    ['p_loss 0.72, unclear; for another assessor -0.3100 to 0.0400']
    """
    lines = []
    if "p_loss" in doubts:
        verdict = f"p_loss {doubts['p_loss']:.2f}, {doubts['credible']}"
        others = f"; {doubts['confirmed']} of the assessors given agree" if "confirmed" in doubts else ""
        lines.append(f"{verdict}; for another assessor {doubts['low']:.4f} to {doubts['high']:.4f}{others}")
    if "delta_low" in doubts:
        lines.append(f"over all grades of unjudged documents {doubts['delta_low']:.4f} to {doubts['delta_high']:.4f}")
    return lines


def _block(
    one: TopicMoves, found: DocumentMoves, query: str, texts: Texts, width: int, doubts: Mapping[str, Any]
) -> str:
    head = f"{one.topic}  {one_line(query)}".rstrip()
    change = f"{found.measure} {one.baseline_score:.4f} -> {one.system_score:.4f} ({one.delta:+.4f})"
    lines = [_cut(head, width), f"  {change}", *(f"  {line}" for line in describe_doubts(doubts)), ""]
    for sign, word in ((-1, "cost"), (1, "gained")):
        lines += _named(one.largest(sign), word, texts, width)
    return "\n".join([*lines, *_lists(one, found, width), ""])


def _named(moves: list[Move], word: str, texts: Texts, width: int) -> list[str]:
    lines = []
    for move in moves[:NAMED]:
        lines.append(f"  {word:6}  {describe(move)}")
        if move.document in texts:
            lines.append(_cut(f"          {one_line(texts[move.document])}", width))
    if len(moves) > NAMED:
        rest = sum(move.contribution for move in moves[NAMED:])
        lines.append(f"  {word:6}  {len(moves) - NAMED} more: {rest:+.4f}")
    return [*lines, ""] if lines else []


def _lists(one: TopicMoves, found: DocumentMoves, width: int) -> list[str]:
    before = {move.baseline_rank: move for move in one.moves}
    after = {move.system_rank: move for move in one.moves}
    last = max((rank for rank in [*before, *after] if rank and rank <= found.depth), default=0)
    longest = max(map(len, (found.baseline, found.system, *(move.document for move in one.moves))))
    name = min(longest, max(12, (width - 48) // 2))
    rows = [("rank", found.baseline, "grade", "now", "", found.system, "grade", "was", "")]
    rows += [
        (str(rank), *_cells(before.get(rank), gone=True), *_cells(after.get(rank), gone=False))
        for rank in range(1, last + 1)
    ]
    sizes = (4, name, 5, 4, 7, name, 5, 4, 7)
    left = (False, True, False, False, False, True, False, False, False)
    return [f"  {'  '.join(map(_fit, row, sizes, left))}".rstrip() for row in rows]


def _cells(move: Move | None, gone: bool) -> tuple[str, str, str, str]:
    """Document, grade, rank in the other list, and contribution, which is on the left for documents that went out."""
    if move is None:
        return "", "", "", ""
    other = move.system_rank if gone else move.baseline_rank
    arrow = {"rose": "↑", "in": "↑", "fell": "↓", "out": "↓", "same": "="}[move.change]
    counts = move.contribution != 0 and (move.change == "out") == gone
    return (
        move.document,
        UNJUDGED if move.grade is None else str(move.grade),
        f"{arrow}{other}" if other else ("out" if gone else "new"),
        f"{move.contribution:+.4f}" if counts else "",
    )


def _fit(cell: str, size: int, left: bool) -> str:
    cut = cell if len(cell) <= size else f"{cell[: size - 1]}…"
    return cut.ljust(size) if left else cut.rjust(size)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"

"""The lab's commands, which `surefoot` finds by the entry-point group ``surefoot.commands``."""

from surefoot.cli import COMPARE, RESEARCH

COMMANDS = {
    "demo": (COMPARE, "collections", "rank and judge an embedded collection, and explain the result in words"),
    "tradeoff": (RESEARCH, "papers", "the cost and the benefit of each alpha, and which to choose"),
    "experiment": (RESEARCH, "papers", "the published learning experiments, or your own, resumable at any time"),
    "reproduce": (RESEARCH, "papers", "the published tables, cell by cell: published, recomputed, difference, reason"),
    "data": (RESEARCH, "collections", "list or get public collections"),
    **{
        f"agreement {kind}": (RESEARCH, "agreement", "a kind of agreement")
        for kind in ("measures", "values", "correlation", "normality", "g2")
    },
}

"""Dinçer, Macdonald and Ounis, Risk-sensitive evaluation and learning to rank using multiple baselines, SIGIR 2016."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from surefoot import risk
from surefoot.analysis.evaluate import evaluate
from surefoot.research.reproduce.cells import UNKNOWN, Cell, cells_of, printed, ranks
from surefoot.research.reproduce.reasons import MIXED, explain_by_copies
from surefoot.scores import Scores

ALPHAS = (0, 1, 5, 10)
BASELINE = "indriCASP"
TSTAR_OF_SRCHVRS = {"tstar_a0": 2.8715, "tstar_a5": -0.8582, "rank_tstar_a5": 3.0}
"""What the public data give for the cells that nothing explains so far."""

SIGN = "printed -0.233; its printed rank 3 needs +0.233"

Measures = Mapping[tuple[str, float], Mapping[str, float | None]]


def example() -> Scores:
    """The paper's example: 8 systems × 5 topics (table 3, without its margins)."""
    lines = [line for line in printed("sigir2016-table3-example-matrix") if line["system"] not in ("TOTAL", "MEAN")]
    topics = [f"t{number}" for number in range(1, 6)]
    return Scores([[float(line[t]) for t in topics] for line in lines], [line["system"] for line in lines], topics)


def table3() -> Iterator[Cell]:
    """The margins of the example matrix."""
    scores = example()
    totals = {topic: float(total) for topic, total in zip(scores.topics, scores.values.sum(axis=0), strict=True)}
    means = {topic: total / len(scores.systems) for topic, total in totals.items()}
    for line in printed("sigir2016-table3-example-matrix"):
        name = line["system"]
        if name in scores.systems:
            found: dict[str, float | None] = {"total": float(scores[name].sum()), "mean": float(scores[name].mean())}
        else:
            found = {**(totals if name == "TOTAL" else means)}
            if name == "TOTAL":
                found["total"] = float(scores.values.sum())
        # Sums of scores printed with four decimals may be off by a few units of the last.
        yield from (cell.explain("sums of rounded scores", within=3e-4) for cell in cells_of(line, found))


def table4() -> Iterator[Cell]:
    """The z of two systems alone, for each topic and in total."""
    scores = example()
    for line in printed("sigir2016-table4-single-baseline"):
        z = risk.zscores(scores.select([line["system"], line["baseline"]]).values)[0]
        found: dict[str, float | None] = {f"z_{t}": float(own) for t, own in zip(scores.topics, z, strict=True)}
        for cell in cells_of(line, {**found, "zrisk": float(z.sum())}):
            yield Cell(f"{line['system']} against {line['baseline']}", cell.column, cell.published, cell.recomputed)


def table5() -> Iterator[Cell]:
    """Z_Risk and GeoRisk of the example."""
    scores = example()
    z, geo = risk.zrisk(scores.values, ALPHAS), risk.georisk(scores.values, ALPHAS)
    for line in printed("sigir2016-table5-zrisk-georisk"):
        row = scores.row(line["system"])
        found: dict[str, float | None] = {"mean": float(scores.values[row].mean())}
        for index, alpha in enumerate(ALPHAS):
            found |= {f"zrisk_a{alpha}": float(z[index, row]), f"georisk_a{alpha}": float(geo[index, row])}
        yield from cells_of(line, found)


def table6(scores: Scores) -> Iterator[Cell]:
    """All measures on TREC 2012: T* over all 49 runs, Z_Risk and GeoRisk over the nine listed ones."""
    lines = printed("sigir2016-table6-trec2012")
    nine = [line["system"] for line in lines]
    others = [name for name in nine if name != BASELINE]
    own = _measures(scores, BASELINE, nine, nine)
    star = _measures(scores, "MEAN", nine, None)
    columns = {
        "urisk": (own, "urisk", others),
        "trisk": (own, "trisk", others),
        "tstar": (star, "trisk", others),
        "zrisk": (own, "zrisk", nine),
        "georisk": (own, "georisk", nine),
    }
    for line in lines:
        found: dict[str, float | None] = {"err20": float(scores[line["system"]].mean())}
        for column in list(line)[2:]:
            short, _, alpha = column.removeprefix("rank_").rpartition("_a")
            measures, name, ranked = columns[short]
            values = {system: measures[system, float(alpha)][name] for system in nine}
            if column.startswith("rank_"):
                known = {system: value for system in ranked if (value := values[system]) is not None}
                found[column] = ranks(known).get(line["system"])
            else:
                found[column] = values[line["system"]]
        yield from (_explain(cell) for cell in cells_of(line, found))


def _measures(scores: Scores, baseline: str, systems: list[str], population: list[str] | None) -> Measures:
    result = evaluate(scores, baseline, [0, 5, 20], systems=systems, population=population)
    return {(row["system"], row["alpha"]): row for row in result.rows()}


def _explain(cell: Cell) -> Cell:
    if cell.row == "srchvrs12c00" and cell.column in TSTAR_OF_SRCHVRS:
        return cell.explain(UNKNOWN, within=5e-4, of=TSTAR_OF_SRCHVRS[cell.column])
    if (cell.row, cell.column) == ("ICTNET12ADR2", "zrisk_a0"):
        return cell.explain(SIGN, within=0.14, of=0.233)
    within = {"tstar_a0": 0.03, "tstar_a5": 0.03, "zrisk_a0": 0.14, "zrisk_a5": 0.26}.get(cell.column, 0.0015)
    if cell.column.startswith("rank_"):
        within = 1.0
    return explain_by_copies(cell, cell.row, within=0.4 if "tstar" in cell.column else 0.15).explain(MIXED, within)

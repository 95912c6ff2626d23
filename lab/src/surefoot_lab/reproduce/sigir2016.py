"""Dinçer, Macdonald and Ounis, Risk-sensitive evaluation and learning to rank using multiple baselines, SIGIR 2016."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from surefoot import risk
from surefoot.analysis.evaluate import evaluate
from surefoot.scores import Scores
from surefoot_lab.reproduce.cells import Cell, cells_of, printed, ranks

ALPHAS = (0, 1, 5, 10)
BASELINE = "indriCASP"
NO_MATRIX = (
    "no copy of the runs gives this column: for any matrix the sum of sqrt(S) Z_Risk at alpha 0 is 0; the nine printed "
    "rows give -2.88, or -1.35 with the sign of ICTNET12ADR2 mended, where rounding allows 0.016"
)
SIGN = "its own GeoRisk proves that the sign is a misprint (arithmetic), but not the value; and " + NO_MATRIX
STAR = "T* against the mean of 49 runs: public runs give 3 of 9 rows at alpha 0 to the digit, the fitted copies none"
SORTED = STAR + "; the column is probably printed sorted, so that this is another run's value"
BEYOND = "the copies that give the tables of 2014 do not give it"

REMARKS = {
    ("srchvrs12c00", "tstar_a0"): SORTED,
    ("srchvrs12c00", "tstar_a5"): SORTED,
    ("srchvrs12c00", "rank_tstar_a5"): SORTED,
    ("DFalah121A", "tstar_a0"): SORTED,
    ("QUTparaBline", "tstar_a0"): SORTED,
    ("ICTNET12ADR2", "zrisk_a0"): SIGN,
}
"""Remarks on single cells of table 6."""

COLUMNS = {"tstar": STAR, "zrisk_a0": NO_MATRIX, "georisk_a0": NO_MATRIX, "zrisk": BEYOND, "georisk": BEYOND}
"""Remarks on its columns."""

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
        yield from (_explain_margin(cell, scores) for cell in cells_of(line, found))


def _explain_margin(cell: Cell, scores: Scores) -> Cell:
    """Each score of a sum or a mean may be off by half a unit of its fourth decimal."""
    systems, topics = scores.values.shape
    summands = (systems if cell.row in ("TOTAL", "MEAN") else 1) * (topics if cell.column in ("total", "mean") else 1)
    off = 5e-5 * (1 if cell.column == "mean" or cell.row == "MEAN" else summands)
    value = float(cell.recomputed or 0.0)
    return cell.prove("scores of a sum are rounded to four decimals", value - off, value + off)


def table4() -> Iterator[Cell]:
    """The z of a population of two systems, for each topic and in total."""
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
        yield from cells_of(line, found)


def explain_table6(cell: Cell, twin: Cell) -> Cell:
    """Remark on T*, on alpha 0, and on values that the fitted copies do not give."""
    column = cell.column.removeprefix("rank_")
    remark = next((text for start, text in COLUMNS.items() if column.startswith(start)), "")
    remark = REMARKS.get((cell.row, cell.column), remark)
    return cell if cell.equal or not remark or (remark is BEYOND and twin.equal) else cell.remark(remark)


def _measures(scores: Scores, baseline: str, systems: list[str], population: list[str] | None) -> Measures:
    result = evaluate(scores, baseline, [0, 5, 20], systems=systems, population=population)
    return {(row["system"], row["alpha"]): row for row in result.rows()}

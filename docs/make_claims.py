"""Write docs/research/claims.md: `SUREFOOT_DATA=... python docs/make_claims.py FOLDER...`, folders of experiments.

The protocol, fixed before the first run that the page shows: a claim on learned rankers compares two of them on the
test queries of an experiment, by the difference of a measure and its 95 % interval (percentile bootstrap over queries,
10,000 resamples, seed 0). It holds if the whole interval lies on the side of the claim, does not hold if the whole
interval lies on the other side, and is undecided otherwise. "Keeps" means: less than 0.01 lower, so the interval is
compared with -0.01. The page shows one setting of each plan, 100 trees; we saw shorter runs and the experiments page
before. A claim on TREC 2012 is a printed number: it holds if it is recomputed to the digit. Each interval is for a
single claim, not corrected for their number.

NFCorpus and the embedded collection (`demo`) were added later, with the same claims and tests, fixed before their runs.
So was convergence: for each of two trainings in a fold, we count the trees after which the mean on validation queries
first has 95 % of the smaller of their two largest gains over BM25. SIGIR 2012 counts the trees to a fixed mean, which
other data do not reach. The measure is log2 of the ratio of both counts, and its interval is Student's t over the
folds. If one of the two never gains in a fold, the claim is undecided. Folds share training queries, so the interval
may be too short.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy import stats
from surefoot_lab.reproduce import load_scores, reproduce
from surefoot_lab.reproduce.cells import CONSISTENT

from surefoot.io.tables import read_scores
from surefoot.scores import Scores

DOCS = Path(__file__).parent
TOLERANCE, GAINED = 0.01, 0.95
Curves = Mapping[str, Sequence[Sequence[float]]]
"""The mean on validation queries after 0 (BM25), 1, 2, ... trees, of each learner in each fold."""
HEAD = """# What the papers claim, with verdicts

Do the papers' claims on learned rankers hold on other data, and can their figures on TREC 2012 be recomputed?
"""


PROTOCOL = """
`docs/make_claims.py` writes this page; its docstring has the protocol. A claim *holds* if its whole 95 % interval lies
on the side of the claim, *does not hold* if it lies on the other side, and is *undecided* otherwise. The data are
smaller than the papers' MSLR-WEB10K, which was not available: `make mslr FOLDER=...` runs the protocols on it and
writes this page for it. The learners are those of [the protocols](experiments.md), with 100 trees. The intervals are
not corrected for the number of claims: if no learner differed from another, about two of the 37 intervals of a column
would still lie on one side.
"""


@dataclass(frozen=True)
class Claim:
    """A direction: a measure of one ranker against another's, on the queries of a plan's experiment."""

    paper: str
    sentence: str
    plan: str
    measure: str
    one: str
    other: str
    keeps: bool = False


def _claims() -> list[Claim]:
    """The directions that the papers on learning state."""
    found = [
        Claim("SIGIR 2012", "a larger alpha lowers risk", "sigir2014", "risk", "U-CRO alpha 20", "U-CRO alpha 1"),
        Claim("SIGIR 2012", "a small alpha keeps the mean", "sigir2014", "mean", "U-CRO alpha 1", "LambdaMART", True),
        Claim("SIGIR 2012", "a large alpha costs mean", "sigir2014", "mean", "LambdaMART", "U-CRO alpha 20"),
    ]
    found += [
        Claim("SIGIR 2012", f"alpha {alpha} converges faster than alpha 0", "sigir2014", "convergence",
              f"U-CRO alpha {alpha}", "LambdaMART") for alpha in (1, 5, 10, 20)
    ]  # fmt: skip
    for alpha in (1, 5, 10, 20):
        saro, ucro, faro = (f"{name} alpha {alpha}" for name in ("SARO", "U-CRO", "FARO"))
        found += [
            Claim("SIGIR 2014", f"{ucro} has less risk than LambdaMART", "sigir2014", "risk", ucro, "LambdaMART"),
            Claim("SIGIR 2014", f"SARO loses less mean than U-CRO at alpha {alpha}", "sigir2014", "mean", saro, ucro),
            Claim("SIGIR 2014", f"{faro} keeps the mean", "sigir2014", "mean", faro, "LambdaMART", True),
            Claim("SIGIR 2014", f"{faro} has less risk than LambdaMART", "sigir2014", "risk", faro, "LambdaMART"),
        ]
    for alpha in (1, 5):
        for name in ("U-CRO", "FARO", "T*-FARO"):
            geo, other = f"GeoRisk alpha {alpha}", f"{name} alpha {alpha}"
            for measure in ("mean", "wins - losses"):
                sentence = f"{geo} is better than {name} in {measure}"
                found.append(Claim("SIGIR 2016", sentence, "sigir2016", measure, geo, other))
        found.append(
            Claim("SIGIR 2016", f"GeoRisk alpha {alpha} has less risk than LambdaMART", "sigir2016", "risk",
                  f"GeoRisk alpha {alpha}", "LambdaMART")
        )  # fmt: skip
    return found


def verdict(claim: Claim, scores: Scores, n_resamples: int = 10_000) -> str:
    """The verdict with the difference and its interval."""
    one, other = (_values(scores[name] - scores["BM25"], claim.measure) for name in (claim.one, claim.other))
    difference = one - other
    parts = np.array_split(_draws(len(difference), n_resamples), 20)
    low, high = np.quantile(np.concatenate([difference[part].mean(axis=1) for part in parts]), [0.025, 0.975])
    return _stated(float(difference.mean()), low, high, -TOLERANCE if claim.keeps else 0.0)


@cache
def _draws(queries: int, n_resamples: int) -> np.ndarray:
    """The resamples, the same for all claims on as many queries."""
    return np.random.default_rng(0).integers(0, queries, (n_resamples, queries))


def _stated(value: float, low: float, high: float, limit: float = 0.0) -> str:
    said = "holds" if low > limit else "does not hold" if high < limit else "undecided"
    return f"{said}: {value:+.4f} ({low:+.4f} to {high:+.4f})"


def convergence(claim: Claim, curves: Curves) -> str:
    """The verdict on log2 of the ratio of trees to a shared gain, positive where the first of the claim needs fewer."""
    ratios = []
    for one, other in zip(curves[claim.one], curves[claim.other], strict=True):
        gained = [np.asarray(curve)[1:] - curve[0] for curve in (one, other)]
        target = GAINED * min(gain.max() for gain in gained)
        if target <= 0:
            return "undecided: a training never gains over BM25"
        first, second = (1 + np.flatnonzero(gain >= target)[0] for gain in gained)
        ratios.append(np.log2(second / first))
    mean, spread = float(np.mean(ratios)), float(np.std(ratios, ddof=1))
    reach = float(stats.t.ppf(0.975, len(ratios) - 1)) * spread / len(ratios) ** 0.5
    return _stated(mean, mean - reach, mean + reach)


def read_curves(path: Path) -> Curves:
    """The validation table of an experiment."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["learner"]][row["fold"]].append(float(row["mean"]))
    return {learner: list(folds.values()) for learner, folds in found.items()}


def _values(differences: np.ndarray, measure: str) -> np.ndarray:
    """Values of each query whose mean is the measure, more being better."""
    return {"mean": differences, "risk": np.minimum(differences, 0), "wins - losses": np.sign(differences)}[measure]


def _counted(data: str, verdicts: Sequence[str]) -> str:
    counts = Counter(verdict.partition(":")[0] for verdict in verdicts)
    return f"| {data} | {counts['holds']} | {counts['does not hold']} | {counts['undecided']} |"


def page(folders: Sequence[str]) -> str:
    """The whole page."""
    found: dict[str, dict[str, Scores]] = {}
    curves = {}
    for folder in map(Path, folders):
        plan, _, data = folder.name.partition("-")
        found.setdefault(data, {})[plan] = read_scores(folder / "scores.csv")
        curves[plan, data] = read_curves(folder / "validation.csv")

    def cell(claim: Claim, data: str) -> str:
        if claim.plan not in found[data]:
            return "not run"
        if claim.measure == "convergence":
            return convergence(claim, curves[claim.plan, data])
        return verdict(claim, found[data][claim.plan])

    claims = _claims()
    cells = {data: [cell(claim, data) for claim in claims] for data in found}
    parts = [
        HEAD,
        "| claims on | hold | do not hold | undecided |",
        "| --- | ---: | ---: | ---: |",
        *(_counted(data, verdicts) for data, verdicts in cells.items()),
        PROTOCOL,
        "## Learned rankers\n",
        f"| paper | claim | {' | '.join(found)} |",
        "| --- " * (2 + len(found)) + "|",
    ]
    for number, claim in enumerate(claims):
        verdict_cells = " | ".join(verdicts[number] for verdicts in cells.values())
        parts.append(f"| {claim.paper} | {claim.sentence.replace('*', chr(92) + '*')} | {verdict_cells} |")
    sizes = "; ".join(
        f"{data} " + ", ".join(f"{len(one.topics):,} ({plan})" for plan, one in own.items())
        for data, own in found.items()
    )
    parts.append(
        f"\nQueries: {sizes}. Risk is F_Risk against BM25; a positive difference is less risk.\n"
        "Convergence compares the trees that two trainings need to reach 95 % of the smaller of their gains on\n"
        "validation queries, as log2 of the ratio; +1 is half as many trees. Its interval is over the folds.\n"
    )
    parts.append("Commands: `surefoot experiment sigir2014 --data DATA --trees 100`, and the same for `sigir2016`.\n")
    parts += ["## Figures on TREC 2012\n", "| paper | claim | printed | recomputed | verdict |", "| --- " * 5 + "|"]
    for row in reproduce(load_scores(), ["claims"]).rows():
        if row["verdict"] != "not run":
            held = {"equal": "holds", CONSISTENT: f"undecided ({CONSISTENT})"}.get(row["verdict"], "does not hold")
            value = f"{row['recomputed']:.5g}" if isinstance(row["recomputed"], float) else row["recomputed"]
            parts.append(f"| {row['row']} | {row['column']} | {row['published']} | {value} | {held} |")
    return "\n".join([*parts, "\n`surefoot reproduce claims` prints this table with the reasons.", ""])


if __name__ == "__main__":
    *folders, output = (
        [*sys.argv[1:], str(DOCS / "research" / "claims.md")] if not sys.argv[-1].endswith(".md") else sys.argv[1:]
    )
    Path(output).write_text(page(folders), encoding="utf-8")

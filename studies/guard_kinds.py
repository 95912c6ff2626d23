"""Do the guards that rank a whole query by one ranker lower risk as log-rank fusion and z scores do?

Protocol, committed before its first run:

- Kinds: ``log-rank``, ``z``, ``threshold``, ``selector`` and ``coin``, each by the row of its kind in
  `surefoot.guard.fitting`: five folds, and for each the weight or the threshold is fitted on the other four, or no
  guard is taken. All defaults, nDCG@10, the same folds for every kind. ``selector`` and ``coin`` were removed after
  the study, so they are no longer computed.
- Pairs: the development pairs of ``guard``. Runs of DL 2019 over bm25base_p and every second run of TREC-COVID over
  bm25_baseline, in the order of their names, without the candidates of the 66 pairs; of the embedded collection and
  NFCorpus, every model over BM25 on the first 45 and on the first 400 queries of a permutation by each of three seeds.
- Averages are over pairs whose F_Risk is above 0.015 and whose candidate has a higher mean than its baseline. Intervals
  are bootstrap intervals over pairs; samples of one collection share queries and models, so theirs are too narrow.
- A kind is supported if the interval of its gain in U_Risk at alpha 0.5 over the candidate without a guard lies above 0
  in every group. It joins the default choice only if its U_Risk is also above that of log-rank and of z in every group,
  by intervals above 0. Such a kind would be confirmed on CODEC and DL-Hard first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from studies.atlas.collections import known_collections, load_collections
from studies.guard import MEASURE, Outcome, interval_of, kept_outcome, run_cases, written
from surefoot.effectiveness.sources import load_qrels
from surefoot.guard.fitting import GuardFit
from surefoot.guard.runs import fit_guard_to_runs
from surefoot.guard.trial import UNGUARDED as NONE
from surefoot.results import Result, by_column, signature
from surefoot.risk.values import Linear

KINDS = ("log-rank", "z", "threshold")
BASELINES = {"DL 2019": ("bm25base_p", 1), "TREC-COVID": ("bm25_baseline", 2)}
"""The baseline of each collection of runs, and which share of the runs is taken: one in so many."""
SIZES, SEEDS = (45, 400), (0, 1, 2)


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    found: dict[str, list[Outcome]] = {}
    for number, (group, name, runs) in enumerate(pairs()):
        if number % less == 0:
            found.setdefault(group, []).append(kept_outcome(f"kinds-{name}", (group, *runs), partial(_fit, *runs)))
            print(name, flush=True)
    yield "Kinds of guards on development pairs, out of sample", kinds_table(found)


def _fit(baseline: object, candidate: object, qrels: object) -> GuardFit:
    return fit_guard_to_runs(baseline, candidate, qrels, measure=MEASURE, kinds=KINDS, anyway=True)


def pairs() -> Iterator[tuple[str, str, tuple[object, object, object]]]:
    """The group, a name, and the arguments of a fit."""
    taken = {case[2] for case in run_cases()}
    for one in load_collections(list(known_collections()))[0]:
        if one.name in BASELINES:
            baseline, step = BASELINES[one.name]
            others = [run for run in sorted(one.runs) if run != baseline and one.runs[run] not in taken]
            for run in others[::step]:
                yield one.name, f"{one.name}-{run}", (one.runs[baseline], one.runs[run], one.qrels)
    for name in ("embedded", "NFCorpus"):
        folder = written(name)
        judged = load_qrels(folder / "qrels.txt")
        for size in SIZES:
            for seed in SEEDS:
                drawn = np.random.default_rng(seed).permutation(judged.topics)[:size].tolist()
                qrels = _qrels_of(folder / "qrels.txt", set(drawn))
                for path in sorted(folder.glob("*.run")):
                    if path.stem != "BM25":
                        yield f"text, {size} queries", f"{name}-{size}-{seed}-{path.stem}", (
                            folder / "BM25.run", path, qrels)  # fmt: skip


def _qrels_of(path: Path, topics: set[str]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        if topic in topics:
            found.setdefault(topic, {})[document] = int(grade)
    return found


def kinds_table(found: dict[str, list[Outcome]]) -> Result:
    """Mean, F_Risk and U_Risk of each kind by group of pairs."""
    rows = []
    for group, outcomes in found.items():
        own = [one for one in outcomes if one.is_risky and one.is_better]
        for kind in KINDS if len(own) > 1 else ():
            means, risks = np.transpose([one.change(kind) for one in own])
            gains = {rule: _gains(own, kind, rule) for rule in (NONE, "log-rank", "z")}
            rows.append({
                "pairs": group,
                "guard": kind,
                "number": len(own),
                "unchanged": sum(np.array_equal(one.x[kind], one.x[NONE]) for one in own),
                "mean in %": f"{means.mean():+.2f}",
                "frisk in %": f"{risks.mean():+.1f}",
                "urisk over none": interval_of(gains[NONE]),
                "over log-rank": "" if kind == "log-rank" else interval_of(gains["log-rank"]),
                "over z": "" if kind == "z" else interval_of(gains["z"]),
            })  # fmt: skip
    stated = signature("guard-kinds", measure=MEASURE, alpha=0.5)
    return Result(stated, by_column(rows))


def _gains(own: Sequence[Outcome], kind: str, rule: str) -> list[float]:
    """The gain of a kind in U_Risk at alpha 0.5 over another rule on each pair, in thousandths."""
    worth = [[Linear(0.5)(one.x[name] - one.x["baseline"]).mean() for name in (kind, rule)] for one in own]
    return [1000 * (mine - theirs) for mine, theirs in worth]

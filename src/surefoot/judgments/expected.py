"""Evaluations with the values that are expected of judgments by people, where language models graded the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from surefoot.analysis.evaluate import Evaluation
from surefoot.judgments.bounds import with_pair_columns
from surefoot.judgments.credibility import Credibility, credibility, digests_of
from surefoot.judgments.judged_runs import JudgedRuns

ENDS = ("expected", "low", "high")
COLUMNS = {
    f"{end}_{name}" if end == "expected" else f"expected_{name}_{end}": f"{name}_{end}"
    for name in ("mean", "delta", "urisk", "frisk", "losses")
    for end in ENDS
} | {"expected_trisk": "trisk", "llm_urisk": "urisk_llm", "llm_frisk": "frisk_llm"}
"""Columns, and the values of `Credibility.summary` that they hold."""


def with_expected(result: Evaluation, runs: Mapping[str, JudgedRuns], seed: int = 0) -> Evaluation:
    """An evaluation with what is expected of each row, by hand judgments and the calibrated grades of language models.

    Parameters
    ----------
    result
        An evaluation of runs against a baseline, with linear values.
    runs
        The runs with their judgments and language models, by the name of the measure.
    seed
        The seed.

    Returns
    -------
    Evaluation
        With columns ``expected_MEASURE`` and its 90 % interval, and by the models' grades only ``llm_urisk`` and
        ``llm_frisk``; NaN for the baseline itself.
    """

    @cache
    def found(measure: str, system: str, baseline: str) -> Credibility:
        return credibility(runs[measure], system, baseline, assessors="none", seed=seed)

    def values(measure: str, system: str, baseline: str, alpha: float) -> list[float]:
        summary = found(measure, system, baseline).summary(alpha)
        return [summary[name] for name in COLUMNS.values()]

    notes = dict.fromkeys(note for one in runs.values() for note in one.notes)
    note = (
        "expected_...: with the grades that people would give, 90 % intervals; other columns count unjudged documents 0"
    )
    shown = with_pair_columns(result, next(iter(runs)), tuple(COLUMNS), values)
    head, version = shown.signature.rsplit("|", 1)
    models = ",".join(digests_of(next(iter(runs.values())).llm_qrels) or ())
    return replace(shown, notes=(*shown.notes, *notes, note), signature=f"{head}|llm={models}|{version}")

"""Is a loss real? The difference of each topic under grades that are missing or that another assessor would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot._process import generator
from surefoot._typing import Columns, FloatArray, IntArray
from surefoot.effectiveness.scoring import score_runs
from surefoot.errors import SurefootError, counted
from surefoot.io.document_lists import digests_of
from surefoot.judgments.assessors import SHIPPED, Disagreement, DrawnAssessors, parse_assessors, replicate
from surefoot.judgments.judged_runs import JudgedPair, JudgedRuns, TopicPair
from surefoot.judgments.unjudged import GradeModel
from surefoot.results import Result, plain, signature
from surefoot.risk.moments import Moments
from surefoot.risk.values import Linear, validate_alpha
from surefoot.stats.inference import validate_level

Assessors = Any
"""How assessors differ; `parse_assessors` names the forms."""
LEVEL = 0.1
"""Intervals hold the central 90 %, so that a credible loss has a probability of at least 95 %."""
N_DRAWS, FEWEST_DRAWS, CELLS = 2000, 100, 1_000_000
"""The usual number of draws, the smallest, and the number of draws × topics that large collections are limited to."""
LLM_NOTE = (
    "U_Risk {urisk_expected:.4f} is expected ({urisk_low:.4f} to {urisk_high:.4f}), F_Risk {frisk_expected:.4f} "
    "({frisk_low:.4f} to {frisk_high:.4f}), {losses_low:.0f} to {losses_high:.0f} losses; by the language models' "
    "grades only U_Risk {urisk_llm:.4f}, F_Risk {frisk_llm:.4f}"
)
"""The note on expected values, and on those by the grades of language models only."""
NO_CHANGE = 1e-9
"""Smaller differences are rounding."""


def draws_for(topics: int, given: int | None = None) -> int:
    """How many times grades are drawn: as given, or the default of all commands, so that they give the same answers.

    >>> draws_for(50), draws_for(2000), draws_for(1_000_000), draws_for(50, given=7)
    (2000, 500, 100, 7)
    """
    if given is not None and given < 1:
        raise SurefootError(f"the number of draws must be at least 1; got {given}")
    return max(FEWEST_DRAWS, min(N_DRAWS, CELLS // max(1, topics))) if given is None else given


@dataclass(frozen=True, eq=False, kw_only=True)
class Credibility(Result):
    """A row for each topic; see `credibility` for the columns.

    ``values`` are drawn scores of system and baseline, 2 × draws × topics. ``llm`` are the differences by the grades of
    language models only, a row for each model.
    """

    measure: str
    system: str
    baseline: str
    alpha: float
    level: float
    delta: FloatArray
    values: FloatArray
    llm: FloatArray

    @property
    def draws(self) -> FloatArray:
        """The drawn differences, draws × topics."""
        return np.asarray(self.values[0] - self.values[1])

    def extra(self) -> dict[str, float | None]:
        """U_Risk and T_Risk over all topics, with the uncertainty of the judgments, for JSON."""
        return {name: plain(value) for name, value in self.summary().items()}

    def summary(self, alpha: float | None = None) -> dict[str, float]:
        """Expected values over the draws, with intervals: means, U_Risk, F_Risk and the number of losing queries.

        T_Risk is over topics and draws together. With language models ``urisk_llm`` and ``frisk_llm`` are by their
        grades only, and ``llm_bias`` is how far that U_Risk is above the expected one.
        """
        value, draws = Linear(self.alpha if alpha is None else alpha), self.draws
        drawn, topics = value(draws), draws.shape[1]
        urisk = drawn.mean(axis=1)
        within = drawn.var(axis=1, ddof=1).mean() / topics if topics > 1 else np.nan
        se = np.sqrt(within + urisk.var())
        found = {
            "urisk": float(value(self.delta).mean()),
            **self._interval("urisk", urisk),
            "se": float(se),
            "trisk": float(urisk.mean() / se) if se > 0 else float("nan"),
            **self._interval("trisk", _trisk(drawn)),
            **self._interval("mean", self.values[0].mean(axis=1)),
            **self._interval("delta", draws.mean(axis=1)),
            **self._interval("frisk", np.maximum(-draws, 0.0).mean(axis=1)),
            **self._interval("losses", (draws < -NO_CHANGE).sum(axis=1, dtype=np.float64)),
        }
        if self.llm.size:
            found["urisk_llm"] = float(value(self.llm).mean())
            found["frisk_llm"] = float(np.maximum(-self.llm, 0.0).mean())
            found["llm_bias"] = found["urisk_llm"] - found["urisk_expected"]
        return found

    def _interval(self, name: str, drawn: FloatArray) -> dict[str, float]:
        low, high = np.quantile(drawn, [self.level / 2, 1 - self.level / 2])
        return {f"{name}_expected": float(drawn.mean()), f"{name}_low": float(low), f"{name}_high": float(high)}


def _trisk(values: FloatArray) -> FloatArray:
    """T_Risk of each draw; NaN if all values of a draw are equal."""
    moments = Moments.of(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(moments.mean / moments.se)


def credibility(
    runs: JudgedRuns,
    system: str,
    baseline: str,
    alpha: float = 1.0,
    *,
    assessors: Assessors = SHIPPED,
    level: float = LEVEL,
    n_draws: int | None = None,
    seed: int = 0,
) -> Credibility:
    r"""The probability that each topic's loss is one for another assessor too, with every document judged.

    Unjudged documents get a grade by `GradeModel`; then all grades are replaced by those of another assessor.

    Parameters
    ----------
    runs
        Runs with judgments, read by `JudgedRuns.read`.
    system, baseline
        The names of two of the runs.
    alpha
        The additional weight of losses in U_Risk.
    assessors
        How assessors differ: a `Disagreement`, ``"dl2019"`` for the one that comes with Surefoot, a probability that
        another assessor gives another grade, qrels of one or more other assessors, to which a `Disagreement` is fitted,
        or ``"none"`` if only unjudged documents are in doubt.
    level
        Intervals hold the central 1 - level of the draws.
    n_draws
        How many times all grades are drawn: by default 2,000, fewer beyond 500 topics.
    seed
        The random seed.

    Returns
    -------
    Credibility
        Columns ``topic, delta, p_loss, p_win, low, high, credible, judged, baseline_judged``: the difference as
        judged, the probabilities that it is below and above 0, its interval, "loss" or "win" where one of the
        probabilities is at least 1 - level / 2 and else "unclear", and the fractions of both rankings that are judged;
        with language models ``expected``, the mean over the draws, and ``llm``, the difference by their grades only;
        with qrels of other assessors ``confirmed``, how many of them, in place of the first, see a difference of the
        same sign.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d2 0\n")
    >>> _ = (folder / "old.run").write_text("q1 Q0 d1 1 7 x\nq2 Q0 d1 1 7 x\n")
    >>> _ = (folder / "new.run").write_text("q1 Q0 d2 1 7 x\nq2 Q0 d9 1 7 x\n")
    >>> runs = JudgedRuns.read([folder / "old.run", folder / "new.run"], folder / "qrels.txt", "P@1")
    >>> credibility(runs, "new", "old", assessors=None)["credible"].tolist()
    ['loss', 'unclear']
    """
    alpha = validate_alpha(alpha)
    validate_level(level)
    pair, assessors = runs.pair(system, baseline), parse_assessors(assessors)
    n_draws = draws_for(len(runs.topics), n_draws)
    model = GradeModel.of(runs, pair)
    disagreement = resolve_assessors(assessors, runs, model)
    values = draw_values(pair, model, disagreement, n_draws, seed)
    draws, llm = values[0] - values[1], llm_deltas(runs, system, baseline)
    columns = {"topic": np.array(runs.topics), "delta": pair.delta, **_columns(draws, level)}
    columns["judged"] = runs.judged(system)
    if llm.size:
        columns |= {"expected": draws.mean(axis=0), "llm": llm.mean(axis=0)}
    columns["baseline_judged"] = runs.judged(baseline)
    if isinstance(assessors, list):
        columns["confirmed"] = confirmed(runs, system, baseline, assessors)
    text = signature(
        "credibility", measure=runs.measure, system=system, baseline=baseline, alpha=alpha, topics=len(runs.topics),
        runs=len(runs.rankings), assessors=disagreement and disagreement.source, llm=digests_of(runs.llm_qrels),
        level=level, n_draws=n_draws, seed=seed,
    )  # fmt: skip
    notes = _notes(columns["expected"] if llm.size else pair.delta, draws, columns["credible"], level)
    found = Credibility(
        signature=text, columns=columns, notes=(*notes, *runs.notes), measure=str(runs.measure), system=system,
        baseline=baseline, alpha=alpha, level=level, delta=pair.delta, values=values, llm=llm,
    )  # fmt: skip
    return found if not llm.size else replace(found, notes=(*found.notes, LLM_NOTE.format(**found.summary())))


def llm_deltas(runs: JudgedRuns, system: str, baseline: str) -> FloatArray:
    """The difference of each topic by the grades of each language model only, models × topics."""
    given = (one.with_topics(runs.topics) for one in runs.llm_qrels)
    found = [np.subtract(*judged_values(runs, system, baseline, one)) for one in given]
    return np.reshape(found, (-1, len(runs.topics)))


def _columns(draws: FloatArray, level: float) -> Columns:
    """Probabilities, intervals and verdicts of the drawn differences of each topic."""
    p_loss, p_win = (draws < -NO_CHANGE).mean(axis=0), (draws > NO_CHANGE).mean(axis=0)
    low, high = np.quantile(draws, [level / 2, 1 - level / 2], axis=0)
    verdict = np.select([p_loss >= 1 - level / 2, p_win >= 1 - level / 2], ["loss", "win"], "unclear")
    return {"p_loss": p_loss, "p_win": p_win, "low": low, "high": high, "credible": verdict}


def resolve_assessors(assessors: Assessors, runs: JudgedRuns, model: GradeModel) -> Disagreement | None:
    """The disagreement that was asked for, on the scale of the runs' grades; None if judged grades are facts."""
    given = parse_assessors(assessors)
    if given == "off":
        raise SurefootError("assessors 'off' leaves nothing in doubt; 'none' doubts unjudged documents only")
    if isinstance(given, str):
        return Disagreement.shipped(runs.levels) if given == SHIPPED else None
    if isinstance(given, float | int):
        return Disagreement.of_rate(given, runs.grade_counts)
    return given if isinstance(given, Disagreement) else Disagreement.fit(runs, given, model)


def confirmed(runs: JudgedRuns, system: str, baseline: str, others: Sequence[object]) -> IntArray:
    """How many other assessors see a difference of the same sign on each topic, if they replace the first."""
    signs = np.sign(runs.pair(system, baseline).delta)
    again = (judged_values(runs, system, baseline, replicate(runs.qrels, other)) for other in others)
    return np.asarray(sum(np.sign(own - base) == signs for own, base in again))


def draw_values(
    pair: JudgedPair, model: GradeModel, disagreement: Disagreement | None, n: int, seed: int = 0
) -> FloatArray:
    """Scores of candidate and baseline under drawn grades, 2 × n × topics; as judged where no grade is in doubt.

    With language models, the grades of documents of neither ranking are in doubt too: the best ranking depends on them.
    """
    random = generator(seed)
    shared, values = model.draw_shared(random, n), np.empty((2, n, len(pair.topics)))
    others = None if disagreement is None else disagreement.draw(random, n, model.runs)
    for topic, own in enumerate(pair.topics):
        if others is None and not own.unjudged.any() and not model.layout.scales:
            values[:, :, topic] = pair.values(own, own.zero_filled[np.newaxis], own.rest[np.newaxis])
            continue
        grades = model.fill(topic, own.codes, own.grades, shared, random)
        rest = model.draw_rest(topic, own, shared, random)
        if others is not None:
            grades, again = judge_again(grades, own, topic, model, shared, others, random)
            again[:, : own.rest.size] += rest - own.rest
            rest = again
        values[:, :, topic] = pair.values(own, grades, rest)
    return values


def judge_again(
    grades: IntArray,
    own: TopicPair,
    topic: int,
    model: GradeModel,
    shared: FloatArray,
    others: DrawnAssessors,
    random: np.random.Generator,
) -> tuple[IntArray, IntArray]:
    """The grades of another assessor (n × documents), and grade counts of the other documents (n × levels)."""
    n, levels = len(grades), max(others.levels, own.rest.size)
    traits = others.on_topic(float(model.effects[topic]), random)
    tilt = traits.tilt(model.excess(topic, own.codes, grades, shared), model.profiles(topic, own.codes))
    again = others.judge(grades, tilt, random)
    counts = np.zeros((n, levels), np.int64)
    for grade, number, mean in model.rest(topic, own):
        above = others.probabilities(np.full((n, 1), grade), traits.leniency + traits.trust * mean)[:, 0]
        # Not a multinomial, which takes more or fewer random numbers if a probability differs in its last digit.
        at_least = (random.random((n, number, 1)) < above[:, np.newaxis]).sum(axis=1)
        counts[:, : others.levels] -= np.diff(at_least, axis=1, prepend=number, append=0)
    return again, counts


def real_losses(delta: FloatArray, draws: FloatArray, level: float = LEVEL / 2) -> int:
    """The number of measured losses that are losses together in all but ``level`` of the joint draws.

    >>> real_losses(np.array([-0.1, -0.2, 0.3]), np.array([[-0.1, 0.1, -0.1]] * 10 + [[-0.1, -0.2, 0.3]] * 90))
    1
    """
    still = (draws[:, delta < -NO_CHANGE] < -NO_CHANGE).sum(axis=1)
    return int(np.quantile(still, level, method="lower"))


def count_real_losses(delta: FloatArray, draws: FloatArray, level: float = LEVEL / 2) -> str:
    """`real_losses` in words.

    >>> count_real_losses(np.array([-0.1, -0.2]), np.array([[-0.1, 0.1]]))
    'at least 1 of 2 losses are real (95 %)'
    """
    losses = int((delta < -NO_CHANGE).sum())
    counts = f"{counted(losses, 'loss')} {'is' if losses == 1 else 'are'} real"
    return f"at least {real_losses(delta, draws, level)} of {counts} ({100 * (1 - level):g} %)"


def _notes(delta: FloatArray, draws: FloatArray, verdict: FloatArray, level: float) -> tuple[str, ...]:
    notes = []
    for kind, sign in (("loss", -1), ("win", 1)):
        found, credible = sign * delta > NO_CHANGE, verdict == kind
        notes.append(f"{int((found & credible).sum())} of {counted(int(found.sum()), kind)} credible")
    if (delta < -NO_CHANGE).any():
        notes.append(count_real_losses(delta, draws, level / 2))
    return tuple(notes)


def judged_values(runs: JudgedRuns, system: str, baseline: str, qrels: object) -> FloatArray:
    """Both scores of each topic by these judgments."""
    scores = score_runs({name: runs.ranking(name).run for name in (system, baseline)}, qrels, runs.measure)
    order = [scores.topics.index(topic) for topic in runs.topics]
    return np.stack([scores[system], scores[baseline]])[:, order]

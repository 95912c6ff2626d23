"""One system against one baseline, topic by topic: where the risk comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot import risk
from surefoot.analysis.design import Population, Setting, signature_of
from surefoot.errors import counted, listed
from surefoot.results import Result, plain
from surefoot.risk.values import Family
from surefoot.scores import FloatArray, Scores
from surefoot.stats.inference import LEVEL, TInference, t_inference, topic_inference


@dataclass(frozen=True, eq=False, kw_only=True)
class Exploration(Result):
    """A row for each topic, the worst first, and the inference over all of them."""

    inference: TInference

    def extra(self) -> dict[str, float | None]:
        """The figures over all topics, for JSON."""
        figures = {"urisk": self.inference.urisk, "trisk": self.inference.trisk, "p": self.inference.p}
        return {name: plain(figure) for name, figure in {**figures, "critical": self.inference.critical}.items()}


def explore(
    scores: Scores,
    system: str,
    baseline: str,
    alpha: float = 1.0,
    *,
    population: Population = None,
    value: str | Family = "linear",
    level: float = LEVEL,
) -> Exploration:
    """Which topics did the system make worse or better, and on which is that more than noise?

    Columns: ``topic, system_score, baseline_score, delta, x, z, tr, tj, significant``. x = v(delta); z is that of
    `surefoot.risk.zscores` within the population; T_R and T_J are those of SIGIR 2014; ``significant`` is "loss" or
    "win" where T_J passes the critical value of Student's t at the level. An exploratory figure: among many topics
    some pass by chance.

    >>> scores = Scores([[0.2, 0.4, 0.4], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"])
    >>> explore(scores, system="new", baseline="old", alpha=5).columns["topic"].tolist()
    ['q2', 'q1', 'q3']
    """
    alpha = risk.one_alpha(alpha)
    setting = Setting.of(scores, baseline, [system], population, value)
    own, base = setting.rows[0], scores.baseline(baseline, None if population == "PAIR" else setting.population)
    topics = topic_inference(own, base, alpha, setting.family)
    inference = t_inference(own, base, alpha, setting.family, level)
    verdict = np.select([topics.tj < -inference.critical, topics.tj > inference.critical], ["loss", "win"], "")
    order = np.argsort(topics.x, kind="stable")
    columns = {
        "topic": np.array(scores.topics),
        "system_score": own,
        "baseline_score": base,
        "delta": own - base,
        "x": topics.x,
        "z": _z(setting),
        "tr": topics.tr,
        "tj": topics.tj,
        "significant": verdict,
    }
    stated = signature_of("explore", [setting], np.array(alpha), system=system, level=level)
    ordered = {name: column[order] for name, column in columns.items()}
    undefined = ["z is undefined: the system is not in the population, or some scores are below 0"]
    notes = (*scores.notes, *_findings(ordered, inference), *(undefined if np.isnan(ordered["z"]).any() else []))
    return Exploration(signature=stated, columns=ordered, notes=notes, inference=inference)


def _z(setting: Setting) -> FloatArray:
    z = np.full(len(setting.scores.topics), np.nan)
    if setting.scores.values.min() >= 0:
        for matrix, rows, _ in setting.matrices():
            for row in rows:
                z = risk.zscores(matrix)[row]
    return z


def _findings(columns: dict[str, FloatArray], inference: TInference) -> list[str]:
    if np.isnan(inference.trisk):
        return ["T_R and T_J are undefined: all values are alike, or there is only one topic"]
    found = []
    for verdict in ("loss", "win"):
        topics = columns["topic"][columns["significant"] == verdict]
        found.append(f"{counted(len(topics), f'significant {verdict}')}{': ' if len(topics) else ''}{listed(topics)}")
    test = f"U_Risk {inference.urisk:.4f}, T_Risk {inference.trisk:.4f}, p {inference.p:.3f}"
    return [*found, f"{test}; a topic is significant where |T_J| > {inference.critical:.4f}"]

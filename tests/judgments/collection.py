"""Small collections as files."""

import numpy as np

from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.risk.distributions import logistic


def probabilities(odds, topic, fixed, varying):
    """The probability of each grade by the estimates of `MixedOdds`, documents × grades."""
    latent = fixed @ odds.coefficients + varying @ odds.effects[topic]
    above = logistic(latent[:, np.newaxis] - np.append(odds.thresholds, np.inf)[odds.cuts])
    return -np.diff(above, axis=1, prepend=1.0, append=0.0)


def write_runs(folder, runs):
    files = []
    for name, topics in runs.items():
        lines = [
            f"{topic} Q0 {document} 0 {len(ranked) - rank} x\n"
            for topic, ranked in topics.items()
            for rank, document in enumerate(ranked)
        ]
        files.append(folder / f"{name}.run")
        files[-1].write_text("".join(lines))
    return files


def write_qrels(file, qrels):
    file.write_text("".join(f"{t} 0 {d} {g}\n" for t, own in qrels.items() for d, g in own.items()))
    return file


def random_collection(folder, seed, topics=6, documents=12, runs=4, holes=0.4, highest=3):
    """Runs that rank good documents higher, some of them unjudged; the files of runs and qrels."""
    random = np.random.default_rng(seed)
    qrels, rankings = {}, {f"r{number}": {} for number in range(runs)}
    for topic in map(str, range(topics)):
        grades = random.integers(-1, highest + 1, documents)
        known = {f"d{number}": int(grade) for number, grade in enumerate(grades) if random.random() > holes}
        qrels[topic] = known or {"d0": int(grades[0])}
        for ranking in rankings.values():
            order = np.argsort(-(grades + random.normal(0, 2, documents)))[: random.integers(1, documents)]
            ranking[topic] = [f"d{number}" for number in order]
    return write_runs(folder, rankings), write_qrels(folder / "qrels.txt", qrels)


def read_random(folder, seed, measure="nDCG@5", **more):
    return JudgedRuns.read(*random_collection(folder, seed, **more), measure)


def difference_of_discounts(own, document):
    """The discount of RBP, 0.8 to the power of the rank, in the candidate's ranking less that in the baseline's."""
    candidate, baseline = (
        sum(0.8**rank for rank, ranked in enumerate(order.tolist()) if ranked == document)
        for order in (own.own, own.base)
    )
    return candidate - baseline

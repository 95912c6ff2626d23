"""Published figures on whole collections: the TREC 2012 Web track's gdeval, the TREC-COVID leaderboard."""

import csv

import pytest

from surefoot.effectiveness import score_runs_by
from surefoot.io.trec import read_qrels, read_run

NDCG = "nDCG(dcg='exp-log2')@20"
GDEVAL = {
    "indriCASP": (0.11177, 0.19466),
    "indri-ql-cata-filtered": (0.10533, 0.16165),
    "indri-ql-cata": (0.04948, 0.10180),
    "indri-ql-catb-filtered": (0.10573, 0.17814),
    "indri-ql-catb": (0.09707, 0.17969),
    "indri-rm-cata": (0.04880, 0.09037),
    "indri-rm-catb-filtered": (0.10649, 0.19092),
    "indri-rm-catb": (0.09960, 0.15498),
}


@pytest.fixture(scope="module")
def web(data):
    folder = data / "trec-web-2012"
    return score_runs_by([folder / f"{run}.run.gz" for run in GDEVAL], folder / "qrels.adhoc.txt", [NDCG, "ERR@20"])


@pytest.mark.parametrize("run", GDEVAL)
def test_gdeval(web, run):
    assert (round(web[NDCG][run].mean(), 5), round(web["ERR@20"][run].mean(), 5)) == GDEVAL[run]


@pytest.mark.parametrize(("file", "measure"), [("ndcg20.csv", NDCG), ("err20.csv", "ERR@20")])
def test_gdeval_by_topic(data, web, file, measure):
    with (data / "trec-web-2012" / file).open() as lines:
        published = {row["topic"]: float(row["indriCASP"]) for row in csv.DictReader(lines)}
    for topic, value in zip(web[measure].topics, web[measure]["indriCASP"], strict=True):
        assert value == pytest.approx(published[topic], abs=0.6e-5)


LEADERBOARD = {"nDCG@10": "ndcg@10", "P@5": "p@5", "AP": "MAP", "RBP(p=0.5)": "RBP(p=.5)"}


@pytest.fixture(scope="module")
def covid(data):
    folder = data / "trec-covid-r1"
    return score_runs_by(sorted((folder / "runs").iterdir()), folder / "qrels.txt", LEADERBOARD, ties="trec_eval")


@pytest.mark.parametrize("measure", LEADERBOARD)
def test_trec_covid_leaderboard(data, covid, measure):
    with (data / "trec-covid-r1" / "leaderboard.csv").open() as lines:
        published = {row["run"]: float(row[LEADERBOARD[measure]]) for row in csv.DictReader(lines)}
    assert set(covid[measure].systems) == set(published)
    assert len(published) == 143
    means = dict(zip(covid[measure].systems, covid[measure].values.mean(axis=1), strict=True))
    apart = {run for run, value in published.items() if abs(means[run] - value) > 0.0006}
    assert not apart


@pytest.mark.parametrize("folder", ["trec-covid-r1", "trec-dl-2019"])
def test_real_runs_score_as_in_trec_eval(data, folder):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    qrels, runs = read_qrels(data / folder / "qrels.txt"), sorted((data / folder / "runs").iterdir())
    judged = {topic: qrels.of_topic(topic) for topic in qrels.topics}
    grades = {topic: {name: int(grade) for name, grade in own.items()} for topic, own in judged.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10", "map"})
    found = {ties: score_runs_by(runs, qrels, ["nDCG@10", "AP"], ties=ties) for ties in ("exact", "trec_eval")}
    differ = dict.fromkeys(found, 0)
    for run in map(read_run, runs):
        reference = evaluator.evaluate({topic: run.of_topic(topic) for topic in run.topics})
        for ties, scores in found.items():
            for measure, name in (("nDCG@10", "ndcg_cut_10"), ("AP", "map")):
                own = dict(zip(qrels.topics, scores[measure][run.name].tolist(), strict=True))
                differ[ties] += sum(abs(own[topic] - one[name]) > 1e-9 for topic, one in reference.items())
    assert differ["trec_eval"] == 0 < differ["exact"]

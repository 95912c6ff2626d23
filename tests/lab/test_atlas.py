"""The study of the atlas on a small collection that is written here, and on the public ones where they are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studies.atlas import pairs, rerankers, risk
from studies.atlas.collections import FAMILIES, AtlasCollection, known_collections, load_collections
from surefoot import evaluate

TOPICS, DEPTH = 45, 20
FIRST_STAGES = {"bm25+bert": "bm25", "llm-a": "bm25", "llm-b": "bm25"}
KINDS = {"bm25": "lexical", "ance": "dense", "bm25+bert": "cross-encoder", "llm-a": "LLM", "llm-b": "LLM"}


@pytest.fixture
def one(tmp_path: Path) -> AtlasCollection:
    """A BM25, a dense run, a cross-encoder and two LLMs that rerank BM25; a fifth of the documents is unjudged."""
    random = np.random.default_rng(0)
    truth = random.random((TOPICS, DEPTH))
    judged = (
        f"q{topic} 0 d{document} {int(3 * truth[topic, document])}\n"
        for topic in range(TOPICS)
        for document in range(DEPTH)
        if random.random() < 0.8
    )
    (tmp_path / "qrels.txt").write_text("".join(judged))
    for name, noise in zip(KINDS, (1.0, 0.8, 0.6, 0.4, 0.4), strict=True):
        scores = truth + noise * random.normal(size=truth.shape)
        lines = (f"q{q} Q0 d{d} 0 {s:.6f} {name}\n" for q, row in enumerate(scores) for d, s in enumerate(row))
        (tmp_path / f"{name}.run").write_text("".join(lines))
    runs = {name: tmp_path / f"{name}.run" for name in KINDS}
    return AtlasCollection("small", "", runs, tmp_path / "qrels.txt", "bm25", KINDS, FIRST_STAGES)


def test_runs_have_the_figures_of_evaluate(one: AtlasCollection) -> None:
    rows = risk.run_risks([one]).rows()
    found = {row["run"]: row for row in rows if row["against"] == "BM25"}
    theirs = {row["system"]: row for row in evaluate(one.scores, "bm25", 1.0).rows()}
    assert set(found) == {"ance", "bm25+bert", "llm-a", "llm-b"}
    for run, row in found.items():
        for name in ("mean", "frisk", "freward", "losses", "loss20", "urisk", "trisk"):
            assert row[name] == pytest.approx(theirs[run][name]), name
    assert sum(row["against"] == "first stage" for row in rows) == 3


def test_families_are_means_over_runs(one: AtlasCollection) -> None:
    rows = {(row["against"], row["family"]): row for row in risk.family_risks([one]).rows()}
    llm = rows["first stage", "LLM"]
    each = [np.maximum(-one.delta(run, "bm25"), 0).mean() for run in ("llm-a", "llm-b")]
    assert llm["frisk"] == pytest.approx(np.mean(each))
    assert llm["low"] < llm["frisk"] < llm["high"]
    assert (llm["lowest run"], llm["highest run"]) == pytest.approx((min(each), max(each)))


def test_risk_that_the_shift_alone_gives() -> None:
    deltas = np.random.default_rng(1).normal(0.1, 0.2, (1, 50))
    own = np.maximum(-deltas, 0).mean()
    assert risk.shifted_risk(deltas, deltas.mean(axis=1)) == pytest.approx(own)
    assert np.diff(risk.shifted_risk(deltas, np.linspace(0, 0.5, 9))).max() <= 0


def test_rerankers_that_are_copies_lose_on_the_same_topics(one: AtlasCollection) -> None:
    copied = replace(one, runs={**one.runs, "llm-b": one.runs["llm-a"]})
    row = next(row for row in rerankers.shared_losses([copied]).rows() if row["family"] == "LLM")
    assert row["lost by any"] == row["lost by most"] == row["lost by all"]
    assert row["correlation"] == pytest.approx(1)
    assert row["p"] < 0.01


def test_survivors_are_no_more_than_losses(one: AtlasCollection) -> None:
    found = pairs.doubted_pairs([one])
    for row in found.rows():
        assert row["credible losses"] <= row["losses"] >= row["losses, not an artefact"]
        assert row["losses, three assessors"] is None
    summed = {row["family"]: row for row in pairs.doubted_families(found, [one]).rows()}
    assert summed["LLM"]["losses"] == sum(row["losses"] for row in found.rows() if row["family"] == "LLM")


def test_further_assessors_confirm_or_contradict(one: AtlasCollection, tmp_path: Path) -> None:
    """One who judges alike confirms all; one who turns the grades around contradicts most."""
    alike, around = tmp_path / "alike.txt", tmp_path / "around.txt"
    lines = [line.split() for line in one.qrels.read_text().splitlines()]
    alike.write_text(one.qrels.read_text())
    around.write_text("".join(f"{topic} 0 {document} {2 - int(grade)}\n" for topic, _, document, grade in lines))
    row = pairs.by_size([replace(one, assessors=(alike,))]).rows()[-1]
    assert row["wins, three assessors"] == row["wins"] > 0
    assert row["wins, contradicted"] == 0
    row = pairs.by_size([replace(one, assessors=(around,))]).rows()[-1]
    assert row["wins, contradicted"] > row["wins"] / 2 > row["wins, three assessors"]


def test_the_atlas_names_known_families_and_runs_once() -> None:
    for name, entry in known_collections().items():
        assert set(entry["families"]) <= set(FAMILIES), name
        runs = [run for own in entry["families"].values() for run in own.split()]
        assert len(runs) == len(set(runs)), name
        assert entry["bm25"] in entry["families"]["lexical"].split()
        reranked = [run for own in entry["first_stages"].values() for run in own.split()]
        assert set(reranked) | set(entry["first_stages"]) <= set(runs)


def test_37_of_37_means_of_dl_2019_are_those_of_nist(data: Path) -> None:
    (own,), _ = load_collections(["DL 2019"])
    official = risk.official_means([own]).rows()
    assert len(official) == 37
    assert all(row["equal"] for row in official)
    assert len(own.runs) == len(own.families) == 61
    rows = rerankers.contrast([own]).rows()
    assert [row["first stage"] for row in rows] == 4 * ["maik-froebe-colbert", "bm25base_p"]
    assert len({row["judgments"] for row in rows}) == 4


def test_every_named_run_is_there(data: Path) -> None:
    names = [name for name in known_collections() if (data / known_collections()[name]["folder"]).exists()]
    for one in load_collections(names)[0]:
        entry = known_collections()[one.name]
        listed = {run for own in entry["families"].values() for run in own.split()}
        assert listed <= set(one.runs), one.name

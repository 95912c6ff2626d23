"""The atlas on small collections that are written here, and on the public ones where they are."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surefoot import SurefootError, evaluate
from surefoot.cli import main
from surefoot.research.atlas import doubts, rerankers, risk
from surefoot.research.atlas.atlas import PARTS, _Store, make_atlas
from surefoot.research.atlas.collections import FAMILIES, AtlasCollection, known_collections, load_collections

TOPICS, DEPTH = 45, 20


def write_collection(folder: Path, seed: int = 0) -> Path:
    """A BM25, a dense run, a cross-encoder and two LLMs that rerank BM25; every third document is relevant."""
    random = np.random.default_rng(seed)
    (folder / "runs").mkdir(parents=True)
    truth = random.random((TOPICS, DEPTH))
    judged = (
        f"q{topic} 0 d{document} {int(3 * truth[topic, document])}\n"
        for topic in range(TOPICS)
        for document in range(DEPTH)
        if random.random() < 0.8
    )
    (folder / "qrels.txt").write_text("".join(judged))
    for name, noise in {"bm25": 1.0, "ance": 0.8, "bm25+bert": 0.6, "llm-a": 0.4, "llm-b": 0.4}.items():
        scores = truth + noise * random.normal(size=truth.shape)
        lines = (f"q{q} Q0 d{d} 0 {s:.6f} {name}\n" for q, row in enumerate(scores) for d, s in enumerate(row))
        (folder / "runs" / f"{name}.run").write_text("".join(lines))
    (folder / "families.csv").write_text(
        "system,family\nbm25,lexical\nance,dense\nbm25+bert,cross-encoder\nllm-a,LLM\nllm-b,LLM\n"
    )
    (folder / "first-stages.csv").write_text("system,baseline\nbm25+bert,bm25\nllm-a,bm25\nllm-b,bm25\n")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a collection that the registry knows and the atlas doesn't."""
    write_collection(tmp_path / "trec-dl-2020")
    monkeypatch.setenv("SUREFOOT_DATA", str(tmp_path))
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def one(home: Path) -> AtlasCollection:
    (found,), missing = load_collections(["trec-dl-2020"])
    assert not missing
    return found


def test_a_collection_of_the_user_by_name(one: AtlasCollection) -> None:
    assert one.bm25 == "bm25"
    assert one.family("llm-a") == "LLM"
    assert dict(one.reranked("LLM")) == {"llm-a": "bm25", "llm-b": "bm25"}
    assert len(one.digest) == 12


def test_the_hash_is_that_of_the_content(one: AtlasCollection, home: Path) -> None:
    before, path = one.digest, home / "trec-dl-2020" / "runs" / "ance.run"
    (path.parent / "ance.run.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    again = load_collections(["trec-dl-2020"])[0][0]
    assert again.digest == before
    (home / "trec-dl-2020" / "qrels.txt").write_text("q0 0 d0 1\n")
    assert load_collections(["trec-dl-2020"])[0][0].digest != before


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
    pairs = doubts.doubted_pairs([one])
    for row in pairs.rows():
        assert row["credible losses"] <= row["losses"] >= row["losses, not an artefact"]
        assert row["losses, three assessors"] is None
    summed = {row["family"]: row for row in doubts.doubted_families(pairs, [one]).rows()}
    assert summed["LLM"]["losses"] == sum(row["losses"] for row in pairs.rows() if row["family"] == "LLM")


def test_further_assessors_confirm_or_contradict(one: AtlasCollection, tmp_path: Path) -> None:
    """One who judges alike confirms all; one who turns the grades around contradicts most."""
    alike, around = tmp_path / "alike.txt", tmp_path / "around.txt"
    lines = [line.split() for line in one.qrels.read_text().splitlines()]
    alike.write_text(one.qrels.read_text())
    around.write_text("".join(f"{topic} 0 {document} {2 - int(grade)}\n" for topic, _, document, grade in lines))
    row = doubts.by_size([replace(one, assessors=(alike,))]).rows()[-1]
    assert row["wins, three assessors"] == row["wins"] > 0
    assert row["wins, contradicted"] == 0
    row = doubts.by_size([replace(one, assessors=(around,))]).rows()[-1]
    assert row["wins, contradicted"] > row["wins"] / 2 > row["wins, three assessors"]


def test_the_command_writes_tables_and_figures_and_goes_on(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "neural", "--collection", "trec-dl-2020", "-o", str(home / "atlas")]
    parts = [word for part in ("runs", "families", "shared", "doubted-families", "guards") for word in ("--part", part)]
    assert main([*words, *parts]) == 0
    assert "Risk by family" in capsys.readouterr().out
    names = {path.name for path in (home / "atlas").iterdir()}
    assert names >= {"runs.csv", "families.csv", "guards.csv", "tables.md"}
    assert names >= {
        f"{name}.{end}" for name in ("plane", "rerankers", "survivors", "guards") for end in ("svg", "png")
    }
    assert "trec-dl-2020:" in (home / "atlas" / "tables.md").read_text()
    stored = next((home / "atlas" / "parts").glob("guards-*.json"))
    changed = json.loads(stored.read_text())
    changed["notes"] = ["taken from the store"]
    stored.write_text(json.dumps(changed))
    assert main([*words, "--part", "guards", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["guards"]["notes"] == ["taken from the store"]


def _rewrite(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "families.csv").unlink(),
        lambda folder: _rewrite(folder / "families.csv", "ance,dense", "ance,learned sparse"),
        lambda folder: _rewrite(folder / "first-stages.csv", "llm-b,bm25", "llm-b,ance"),
        lambda folder: (folder / "runs" / "llm-b.run").rename(folder / "runs" / "llm-c.run"),
    ],
    ids=["no families", "another family", "another first stage", "another name"],
)
def test_a_kept_table_is_taken_for_the_same_collection_alone(home: Path, change: Callable[[Path], object]) -> None:
    def made(folder: Path | None) -> list[dict[str, object]]:
        return make_atlas(["trec-dl-2020"], parts=["runs"], folder=folder).tables["runs"].rows()

    before = made(home / "atlas")
    change(home / "trec-dl-2020")
    assert made(home / "atlas") == made(None) != before


def test_published_means_are_part_of_what_a_table_is_kept_for(one: AtlasCollection, tmp_path: Path) -> None:
    store = _Store(tmp_path)
    store.put("official", [one], risk.run_risks([one]))
    assert store.get("official", [one]) is not None
    assert store.get("official", [replace(one, published={"ance": 0.5})]) is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["neural", "--part", "gaurds"], "did you mean guards?"),
        (["neural", "--collection", "trec-dl-2091"], "did you mean trec-dl-20"),
        (["neural", "--collection", "DL 2019"], "surefoot data get trec-dl-2019"),
        (["neural", "--collection", "trec-cast-2019"], "surefoot data get trec-cast-2019"),
        (["neural", "sigir2016-table5"], "the atlas is made alone"),
        (["--part", "guards"], "are for the atlas: surefoot reproduce neural"),
    ],
)
def test_what_is_wrong_is_one_line(
    home: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_other_folders_are_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "mine").mkdir()
    (home / "mine" / "notes.txt").write_text("mine")
    words = ["reproduce", "neural", "--collection", "trec-dl-2020", "--part", "runs", "-o", str(home / "mine")]
    assert main(words) == 2
    assert "holds other files" in capsys.readouterr().err


def test_unknown_families_and_no_bm25_are_refused(home: Path) -> None:
    folder = home / "trec-dl-2020"
    (folder / "families.csv").write_text("system,family\nance,dens\n")
    with pytest.raises(SurefootError, match=r"did you mean dense\?"):
        load_collections(["trec-dl-2020"])
    (folder / "families.csv").unlink()
    (folder / "runs" / "bm25.run").unlink()
    (folder / "runs" / "bm25+bert.run").unlink()
    with pytest.raises(SurefootError, match="no run is called BM25"):
        load_collections(["trec-dl-2020"])


def test_the_atlas_names_known_families_and_runs_once() -> None:
    for name, entry in known_collections().items():
        assert set(entry["families"]) <= set(FAMILIES), name
        runs = [run for own in entry["families"].values() for run in own.split()]
        assert len(runs) == len(set(runs)), name
        assert entry["bm25"] in entry["families"]["lexical"].split()
        reranked = [run for own in entry["first_stages"].values() for run in own.split()]
        assert set(reranked) | set(entry["first_stages"]) <= set(runs)


def test_37_of_37_means_of_dl_2019_are_those_of_nist(data: Path) -> None:
    atlas = make_atlas(["DL 2019"], parts=["official", "contrast"])
    official = atlas.tables["official"].rows()
    assert len(official) == 37
    assert all(row["equal"] for row in official)
    assert atlas.differing == 0
    (one,) = atlas.collections
    assert len(one.runs) == len(one.families) == 61
    rows = atlas.tables["contrast"].rows()
    assert [row["first stage"] for row in rows] == 4 * ["maik-froebe-colbert", "bm25base_p"]
    assert len({row["judgments"] for row in rows}) == 4


def test_every_named_run_is_there(data: Path) -> None:
    names = [name for name in known_collections() if (data / known_collections()[name]["folder"]).exists()]
    for one in load_collections(names)[0]:
        entry = known_collections()[one.name]
        listed = {run for own in entry["families"].values() for run in own.split()}
        assert listed <= set(one.runs), one.name


def test_parts_that_need_others_name_them() -> None:
    assert all(part.needs in ("", *PARTS) for part in PARTS.values())

"""Good files of every format that is read, how it is read, and a slow, obvious reader where there is such."""

import io
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.slow_readers import (
    slow_beir,
    slow_json,
    slow_letor,
    slow_qrels,
    slow_run,
    slow_score_lines,
    slow_trials,
    slow_wide,
)
from tests.io.test_eval_logs import LOGS, MEASURES

RUN = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\n\n# a comment\nq2 Q0 d1 1 -3e-2 tag\nq2\tQ0  d9 2 -4 tag\n"
QRELS = b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 -1\nq2 0 d9 1\n"
PAGE = b"q1 0 d3 2\nq2 0 d4 0\nq2 0 d5 1\n"
JSON_RUN = b'{"q1": {"d1": 2.5, "d2": 1.5},\n "q2": {"d1": -3e-2, "d9": -4}}\n'
RANK_EVAL = (
    b'{"metric_score": 0.4, "details": {"q1": {"hits": [{"hit": {"_id": "d1", "_score": 2.5}, "rating": 1},\n'
    b'{"hit": {"_id": "d2", "_score": 1.5}, "rating": null}]}}}\n'
)
OPENSEARCH = b'{"hits": [{"judgmentRatings": [{"query": "red", "ratings": [{"docId": "d1", "rating": "2.0"}]}]}]}\n'
LTR = b"4 qid:1 # d1 rambo\n0 qid:1 # d2\n3 qid:2 1:0.5 # d1\n"
BEIR = b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td9\t1\n"
MTEB_RUN = b'{"mteb_model_meta": {"model_name": "org/name"}, "default": {"test": {"q1": {"d1": 0.5, "d2": 0.25}}}}\n'
MTEB = b'{"task_name": "NFCorpus", "scores": {"test": [{"main_score": 0.25}, {"main_score": 0.5}]}}\n'
LETOR = b"2 qid:1 1:0.5 2:1e-3 #docid = a\n0 qid:1 1:0.25\n1 qid:x 2:7 3:NULL # b\n"
WIDE = b'topic,old,new\nq1,0.5,0.25\nq2,1,0\n"q 3",.5,1e-1\n'
LONG = b"system\ttopic\tvalue\nold\tq1\t0.5\nnew\tq1\t0.25\nold\tq2\t1\nnew\tq2\t0\n"
TRIALS = b"system,trial,topic,value\nold,1,q1,0.5\nold,2,q1,0.25\nold,1,q2,1\nold,2,q2,0.75\nnew,1,q1,0\nnew,1,q2,0.5\n"
QUOTED = b'"topic","old","new"\n"q1","0.5",0.25\n"q, 2",1,"0"\n"a ""b""",.5,1e-1\n'
JSON_LINES = (
    b'{"system": "old", "topic": "q1", "value": 0.5}\n{"system": "new", "topic": "q1", "value": 0.25}\n'
    b'{"system": "old", "topic": "q2", "value": 1}\n{"system": "new", "topic": "q2", "value": "0"}\n'
)
TREC_EVAL = b"map\tq1\t0.5\nmap\tq2\t0.25\nmap\tall\t0.375\n"
GATE = b'[gate]\ncandidate = "new"\nbaseline = ["old"]\nalpha = 1.5\noff = ["tail"]\n'
PLAN = b'protocol = "sigir2014"\nalphas = [1, 5]\ntrees = 5\nfolds = 3\n'
SEGMENTS = b"topic,language\nq1,de\nq2,en\n"
BASELINES = b"system,baseline\nnew,old\nother,MEAN\n"
TEXTS = b"q1\tfirst query\nq2\tsecond\n"
CORPUS = b'{"_id": "d1", "title": "Knots", "text": "A tie."}\n{"_id": "d2", "text": "A bow."}\n'


def slow_merged(data: bytes) -> dict[tuple[str, str], float]:
    return {**slow_qrels(QRELS), **slow_qrels(data)}


def read_run(path: Path) -> dict[tuple[str, str], float]:
    import surefoot

    return {(topic, document): value for topic, document, value in surefoot.read_run(path).to_frame().rows()}


def read_qrels(path: Path) -> dict[tuple[str, str], float]:
    import surefoot

    return {(topic, document): float(value) for topic, document, value in surefoot.read_qrels(path).to_frame().rows()}


def read_merged(path: Path) -> dict[tuple[str, str], float]:
    """What the judging page saved, added to judgments by ``judge --merge``."""
    import surefoot
    from surefoot.judgments.next_judgments import merge_qrels

    known = path.with_name("known.qrels")
    known.write_bytes(QRELS)
    merged = merge_qrels(surefoot.read_qrels(known), [surefoot.read_qrels(path)])
    return {(topic, document): grade for topic, own in merged for document, grade in own}


def read_letor(path: Path) -> Any:
    import surefoot

    data = surefoot.read_letor(path)
    return data.labels.tolist(), sorted(data.queries), data.features.shape[0]


def read_scores(path: Path) -> Any:
    import surefoot

    return surefoot.read_scores(path).to_dict()


def read_trials(path: Path) -> Any:
    import surefoot

    scores = surefoot.read_scores(path)
    trials = {system: scores.trials.get(system, scores[system][None]) for system in scores.systems}
    return {
        system: {topic: sorted(own[own == own].tolist()) for topic, own in zip(scores.topics, rows.T, strict=True)}
        for system, rows in trials.items()
    }


def read_streamed(path: Path) -> Any:
    import surefoot

    return sorted(surefoot.analysis.evaluate_parquet(path, "old").to_frame()["mean"].to_list())


def read_mteb(path: Path) -> Any:
    """The file as the result of a model, in the folders that MTEB makes."""
    place = path.with_name("model") / "revision" / path.name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(path.read_bytes())
    return read_scores(path.with_name("model"))


def read_gate(path: Path) -> Any:
    from surefoot.release_gate.config import read_config

    return read_config(path)


def read_plan(path: Path) -> Any:
    import surefoot_lab

    return surefoot_lab.read_plan(path)


def read_segments(path: Path) -> Any:
    import surefoot

    return surefoot.io.read_segments(path)


def read_texts(path: Path) -> Any:
    import surefoot

    return surefoot.io.read_queries(path)


def read_guard(path: Path) -> Any:
    from surefoot.guard.guard import Guard

    return Guard.load(path).rank([3.0, 2.0, 1.0], [0.1, 0.9, 0.5])


def good_guard() -> bytes:
    from surefoot.guard.guard import Guard

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "guard.json")
        Guard("z", 0.3).save(path)
        return path.read_bytes()


def read_accepted(path: Path) -> Any:
    import surefoot

    return surefoot.release_gate.read_accepted(path)


def good_ratchet() -> bytes:
    import surefoot

    scores = surefoot.Scores([[0.5, 0.25], [0.5, 0.5]], ["old", "new"], ["q1", "q2"], "nDCG@10")
    accepted = None
    for candidate, baseline in (("new", "old"), ("old", "new")):  # then new is the anchor
        accepted = surefoot.release_gate.accept(scores, surefoot.gate(scores, baseline, candidate=candidate), accepted)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "accepted.json")
        surefoot.release_gate.write_accepted(path, accepted)
        return path.read_bytes()


LOSSES = b"""# Agreed with the editors.

[[loss]]
query = "q1"
measure = "nDCG@10"
baseline_score = 0.8
candidate_score = 0.25
reason = "deleted"
date = 2026-01-31

# Until the index is rebuilt.
[[loss]]
query = 'q2'
measure = "RR"
baseline_score = 1
candidate_score = 0.5
reason = \"\"\"of
several lines\"\"\"
date = 2026-02-01
"""


def read_losses(path: Path) -> Any:
    from surefoot.release_gate.acknowledged import read_acknowledged

    return read_acknowledged(path)


@cache
def model_files() -> dict[str, bytes]:
    """The files of a small model, and the checkpoint of its training."""
    from surefoot.learn import train
    from tests.learn.small_rankings import BASELINE, TRAINING, settings

    class StopError(Exception):
        pass

    def stop(at: Any) -> None:
        if at.iteration == 3:
            raise StopError

    chosen = settings(n_estimators=4, num_leaves=4)
    with tempfile.TemporaryDirectory() as folder:
        with suppress(StopError):
            train(TRAINING, BASELINE, chosen, output=folder, checkpoint_every=0, report=stop)
        train(TRAINING, BASELINE, chosen, output=Path(folder, "model"))
        return {path.name: path.read_bytes() for path in Path(folder).rglob("*.*")}


def read_card(path: Path) -> Any:
    """The card as it is, with the model beside it."""
    return _predict(path, path.read_bytes(), model_files()["model.txt"].decode())


def read_model_text(path: Path) -> Any:
    """The model as it is, with a card that has its digest: damage is not found by that."""
    from surefoot.io.atomic import digest_of

    text = path.read_text("utf-8", errors="replace")
    card = json.loads(model_files()["card.json"])
    card["model"]["blake2b"] = digest_of(text)
    return _predict(path, json.dumps(card).encode(), text)


def _predict(path: Path, card: bytes, text: str) -> Any:
    from surefoot.learn import load_model
    from tests.learn.small_rankings import TRAINING

    folder = path.with_name("model")
    folder.mkdir(exist_ok=True)
    (folder / "card.json").write_bytes(card)
    (folder / "model.txt").write_text(text)
    return load_model(folder).predict(TRAINING).shape


def read_checkpoint(path: Path) -> Any:
    from surefoot.learn.checkpoint import Checkpoint

    request = json.loads(model_files()["checkpoint.json"].partition(b"\n")[2])["request"]
    return Checkpoint.begin(path, request, 1e9, resume=True).current


@cache
def boosters() -> dict[str, bytes]:
    """Models as LightGBM and XGBoost save them."""
    import lightgbm
    import xgboost

    from tests.learn.small_rankings import TRAINING

    light = lightgbm.Dataset(TRAINING.features, TRAINING.labels)
    heavy = xgboost.DMatrix(TRAINING.features, TRAINING.labels)
    small = {"num_leaves": 4, "min_data_in_leaf": 1, "verbosity": -1, "num_threads": 1}
    with tempfile.TemporaryDirectory() as folder:
        lightgbm.train(small, light, 2).save_model(Path(folder, "light.txt"))
        xgboost.train({"max_depth": 2, "nthread": 1}, heavy, 2).save_model(Path(folder, "heavy.json"))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def read_booster(path: Path) -> Any:
    """A model of others, as a baseline."""
    from surefoot.learn.model_files import model_scores, read_model
    from tests.learn.small_rankings import TRAINING

    return model_scores(read_model(str(path)), TRAINING).shape


def read_baseline_map(path: Path) -> Any:
    from surefoot.io.small_files import read_map

    return read_map(path, "baseline")


def read_corpus(path: Path) -> Any:
    import surefoot

    return surefoot.io.read_documents(path)


def parquet(csv: bytes, checksums: bool) -> bytes:
    """A table as Parquet, with checksums of its pages or without."""
    import polars
    import pyarrow.parquet

    separator = "\t" if b"\t" in csv else ","
    frame = polars.read_csv(io.BytesIO(csv), separator=separator)
    out = io.BytesIO()
    pyarrow.parquet.write_table(frame.to_arrow(), out, write_page_checksum=checksums)
    return out.getvalue()


def pandas_parquet() -> bytes:
    """A table whose topics are an index, which pandas keeps as metadata."""
    import pandas

    frame = pandas.DataFrame({"old": [0.5, 1.0], "new": [0.25, 0.0]}, pandas.RangeIndex(151, 153, name="topic"))
    return bytes(frame.to_parquet())


@dataclass(frozen=True)
class Format:
    """A good file and its name, the reader, and a slow, obvious one where there is such."""

    good: Callable[[], bytes]
    file: str
    read: Callable[[Path], Any]
    slow: Callable[[bytes], Any] | None = None


def text(good: bytes, file: str, read: Callable[[Path], Any], slow: Callable[[bytes], Any] | None = None) -> Format:
    return Format(lambda: good, file, read, slow)


def read_measure(path: Path) -> Any:
    import surefoot

    return surefoot.read_scores(path, "m").to_dict()


SEARCHES = b'{"took": 3, "responses": [{"hits": {"hits": [{"_id": "d2", "_score": null}, {"_id": "d1"}]}}]}\n'
EXPERIMENT = b'{"results": [{"searchText": "red", "documentIds": ["d1", "d2"]}]}\n'
QUEPID = b"query,docid,rating\nunrated\nred,d1,0\nred,d2,3\nempty,,\n"
TOPICS = b"<topics><topic number='1'><query>red</query></topic><topic number='2'><query>blue</query></topic></topics>"
CORPUS_TABLE = b"_id,title,text\nd1,Knots,A tie.\nd2,,A bow.\n"
FORMATS = {
    "run": text(RUN, "a.run", read_run, slow_run),
    "run, JSON": text(JSON_RUN, "a.json", read_run, slow_json),
    "run, response of `_rank_eval`": text(RANK_EVAL, "a.json", read_run),
    "run, responses of `_msearch`": text(SEARCHES, "a.json", read_run),
    "run, experiment of OpenSearch": text(EXPERIMENT, "a.json", read_run),
    "qrels of Quepid": text(QUEPID, "a.csv", read_qrels),
    "topics of TREC": text(TOPICS, "topics.xml", read_texts),
    **{f"log of {name}": text(LOGS[name].encode(), "log", read_measure) for name in LOGS if name not in MEASURES},
    "run, predictions of MTEB": text(MTEB_RUN, "a.json", read_run),
    "run, Parquet": Format(lambda: parquet(BEIR, True), "a.parquet", read_run),
    "qrels": text(QRELS, "a.qrels", read_qrels, slow_qrels),
    "qrels, JSON": text(JSON_RUN, "a.json", read_qrels, slow_json),
    "qrels, response of `_rank_eval`": text(RANK_EVAL, "a.json", read_qrels),
    "qrels of OpenSearch": text(OPENSEARCH, "a.json", read_qrels),
    "qrels of Elasticsearch LTR": text(LTR, "a.txt", read_qrels),
    "qrels of BEIR": text(BEIR, "a.tsv", read_qrels, slow_beir),
    "saved by the judging page, merged": text(PAGE, "page.qrels", read_merged, slow_merged),
    "LETOR": text(LETOR, "a.txt", read_letor, slow_letor),
    "wide table": text(WIDE, "a.csv", read_scores, slow_wide),
    "wide table with quotes": text(QUOTED, "a.csv", read_scores, slow_wide),
    "scores, JSON lines": text(JSON_LINES, "a.jsonl", read_scores, slow_score_lines),
    "long table": text(LONG, "a.tsv", read_scores, slow_wide),
    "long table of trials": text(TRIALS, "a.csv", read_trials, slow_trials),
    "table, Parquet": Format(lambda: parquet(WIDE, False), "a.parquet", read_scores),
    "table, Parquet with checksums": Format(lambda: parquet(WIDE, True), "a.parquet", read_scores),
    "table, Parquet, streamed": Format(lambda: parquet(WIDE, False), "a.parquet", read_streamed),
    "table, Parquet of pandas": Format(pandas_parquet, "a.parquet", read_scores),
    "output of trec_eval": text(TREC_EVAL, "a.eval", read_scores),
    "results of MTEB": text(MTEB, "Task.json", read_mteb),
    "options of the gate": text(GATE, "surefoot.toml", read_gate),
    "plan of an experiment": text(PLAN, "plan.toml", read_plan),
    "segments": text(SEGMENTS, "segments.csv", read_segments),
    "map of baselines": text(BASELINES, "map.csv", read_baseline_map),
    "texts of queries": text(TEXTS, "queries.tsv", read_texts),
    "texts of documents, JSON lines": text(CORPUS, "corpus.jsonl", read_corpus),
    "texts of documents, Parquet": Format(lambda: parquet(CORPUS_TABLE, True), "corpus.parquet", read_corpus),
    "guard": Format(good_guard, "guard.json", read_guard),
    "ratchet": Format(good_ratchet, "accepted.json", read_accepted),
    "acknowledged losses": text(LOSSES, "surefoot-losses.toml", read_losses),
    "model, its digest recomputed": Format(lambda: model_files()["model.txt"], "model.txt", read_model_text),
    "card of a model": Format(lambda: model_files()["card.json"], "card.json", read_card),
    "checkpoint": Format(lambda: model_files()["checkpoint.json"], "checkpoint.json", read_checkpoint),
    "model of LightGBM": Format(lambda: boosters()["light.txt"], "light.txt", read_booster),
    "model of XGBoost": Format(lambda: boosters()["heavy.json"], "heavy.json", read_booster),
}

"""Logs of evaluation harnesses: small files in their schemas, and files of the packages where they are installed."""

import asyncio
import csv
import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from surefoot import SurefootError, read_scores
from surefoot.errors import InputError
from surefoot.io.containers import parse_number

SCORES = {"a": 1.0, "b": 0.25}
"""The scores of the measure ``m`` that each of the logs below holds."""


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def inspect_log(value=float):
    samples = [{"id": item, "epoch": 1, "scores": {"m": {"value": value(own)}}} for item, own in SCORES.items()]
    return {"version": 2, "status": "success", "eval": {"model": "org/base", "task": "t"}, "samples": samples}


def lm_eval_row(item, value, **more):
    row = {"doc_id": item, "doc": {}, "filtered_resps": [], "filter": "none", "metrics": ["m"], "m": value}
    return row | more


def promptfoo_row(item, value, index=0, **more):
    row = {"promptIdx": index, "testIdx": 0, "testCase": {}, "provider": {"id": "echo"}, "vars": {"x": item}}
    return row | {"success": value == 1, "score": value, "namedScores": {"m": value}} | more


def deepeval_case(item, value):
    return {"name": "test_case_0", "input": item, "metricsData": [{"name": "m", "score": value}]}


def helm_instance(item, value):
    stats = [
        {"name": {"name": "m", "split": "test", **name}, "count": 2, "sum": 2 * own}
        for own, name in ((value, {}), (0.125, {"perturbation": {"name": "typos"}}))
    ]
    return {"instance_id": item, "train_trial_index": 0, "stats": stats}


def ragas_csv():
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["user_input", "retrieved_contexts", "response", "reference", "m"])
    writer.writerows([item, "['x\n\"y\"']", "several\nlines, of text", "7", value] for item, value in SCORES.items())
    return out.getvalue()


def every_row(item, value, **more):
    row = {"schema_version": "instance_level_eval_0.2.1", "evaluation_id": "e", "model_id": "org/base"}
    return (
        row
        | {"evaluation_name": "t", "sample_id": item, "evaluation": {"score": value, "is_correct": value == 1}}
        | more
    )


EVENTS = [
    {"spec": {"completion_fns": ["base"], "eval_name": "t", "run_id": "r"}},
    *({"run_id": "r", "event_id": n, "sample_id": item, "type": "metrics", "data": {"m": value, "note": "x"}}
      for n, (item, value) in enumerate(SCORES.items())),
    {"run_id": "r", "event_id": 9, "sample_id": "a", "type": "sampling", "data": {"prompt": "p"}},
    {"final_report": {"accuracy": 0.5}},
]  # fmt: skip
LOGS = {
    "inspect": json.dumps(inspect_log()),
    "lm_eval": lines(*(lm_eval_row(item, value) for item, value in SCORES.items())),
    "lm_eval of 2024": lines(
        *({k: v for k, v in lm_eval_row(*own).items() if k not in ("metrics", "filter")} for own in SCORES.items())
    ),
    "lm_eval of several filters": lines(
        *(lm_eval_row(*own, filter=name) for name in ("strict", "loose") for own in SCORES.items())
    ),
    "promptfoo": json.dumps({"evalId": "e", "results": {"results": [promptfoo_row(*own) for own in SCORES.items()]}}),
    "deepeval": json.dumps({"testRunData": {"testCases": [deepeval_case(*own) for own in SCORES.items()]}}),
    "helm": json.dumps([helm_instance(*own) for own in SCORES.items()]),
    "openai evals": lines(*EVENTS),
    "every eval ever": lines(*(every_row(*own) for own in SCORES.items())),
    "ragas": ragas_csv(),
    "model,item,score": "model,item,score\nbase,a,1\nbase,b,0.25\n",
}  # fmt: skip
MEASURES = {"lm_eval of several filters": "m,strict", "every eval ever": "score", "model,item,score": None}
SYSTEMS = {
    "inspect": "base",
    "promptfoo": "echo",
    "openai evals": "base",
    "every eval ever": "base",
    "model,item,score": "base",
}


@pytest.mark.parametrize("name", LOGS)
def test_scores_of_items(tmp_path, name):
    path = tmp_path / "any.txt"
    path.write_text(LOGS[name])
    assert read_scores(path, MEASURES.get(name, "m")).to_dict() == {SYSTEMS.get(name, "any"): SCORES}


@pytest.mark.parametrize("name", ["lm_eval", "every eval ever"])
def test_logs_of_one_line(tmp_path, name):
    path = tmp_path / "any.txt"
    path.write_text(LOGS[name].splitlines()[0])
    first = dict([next(iter(SCORES.items()))])
    assert read_scores(path, MEASURES.get(name, "m")).to_dict() == {SYSTEMS.get(name, "any"): first}


@pytest.mark.parametrize("name", ["inspect", "promptfoo", "helm", "deepeval"])
def test_a_damaged_log_is_refused_in_one_line(tmp_path, name):
    path = tmp_path / "log.json"
    path.write_text(LOGS[name].replace('"scores"', '"scores" ')[: len(LOGS[name]) // 2])
    with pytest.raises(InputError) as error:
        read_scores(path, "m")
    assert "\n" not in str(error.value)
    path.write_text(json.dumps({"eval": 1, "samples": 2, "scores": 3, "promptIdx": 0, "testIdx": 0}))
    with pytest.raises(InputError, match="does not have its form"):
        read_scores(path, "m")


def test_measures_are_named_if_there_are_several(tmp_path):
    path = tmp_path / "helm.json"
    path.write_text(LOGS["helm"])
    with pytest.raises(SurefootError, match="there are 2 measures; name one of m, m/typos"):
        read_scores(path)


def test_grades_of_inspect(tmp_path):
    path = tmp_path / "log.json"
    letters = iter("CI")
    path.write_text(json.dumps(inspect_log(lambda _: next(letters))))
    assert read_scores(path).to_dict() == {"base": {"a": 1.0, "b": 0.0}}
    path.write_text(json.dumps(inspect_log(lambda own: {"x": own, "y": True})))
    assert read_scores(path, "m/x").to_dict() == {"base": SCORES}
    assert read_scores(path, "m/y").values.tolist() == [[1, 1]]


def test_epochs_and_repeats_are_trials(tmp_path):
    path = tmp_path / "log.json"
    log = inspect_log()
    log["samples"] += [{**sample, "epoch": 2, "scores": {"m": {"value": 0}}} for sample in log["samples"]]
    path.write_text(json.dumps(log))
    scores = read_scores(path)
    assert scores.to_dict() == {"base": {"a": 0.5, "b": 0.125}}
    assert scores.trials["base"].tolist() == [[1, 0.25], [0, 0]]
    rows = [promptfoo_row("a", value, index) for index in (0, 1) for value in (1, 0)]
    path.write_text(json.dumps({"results": rows}))
    scores = read_scores(path, "score")
    assert scores.to_dict() == {"echo prompt 1": {"a": 0.5}, "echo prompt 2": {"a": 0.5}}


def test_two_logs_of_one_model_are_named_by_file_or_folder(tmp_path):
    for name in ("old.json", "new.json", "v1/log.json", "v2/log.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LOGS["inspect"])
    assert read_scores([tmp_path / "old.json", tmp_path / "new.json"]).systems == ("old", "new")
    assert read_scores([tmp_path / "v1/log.json", tmp_path / "v2/log.json"]).systems == ("v1", "v2")


def archive(members, method):
    """A zip archive; zstd members are put in by hand, since zipfile writes them only from Python 3.14 on."""
    zstandard = pytest.importorskip("zstandard")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members.items():
            data = json.dumps(content).encode()
            file.writestr(name, zstandard.compress(data) if method == 93 else data)
    packed = bytearray(out.getvalue())
    directory = packed.index(b"PK\x01\x02")
    for info in zipfile.ZipFile(out).infolist() if method == 93 else ():
        data = json.dumps(members[info.filename]).encode()
        entry = packed.index(info.filename.encode(), directory) - 46
        for start in (info.header_offset + 8, entry + 10):
            struct.pack_into("<H", packed, start, method)
            struct.pack_into("<I", packed, start + 6, zlib.crc32(data))
            struct.pack_into("<I", packed, start + 14, len(data))
    return bytes(packed)


@pytest.mark.parametrize("method", [0, 93])
def test_archives_of_inspect(tmp_path, method):
    log = inspect_log()
    header, samples = {**log, "samples": None}, log["samples"]
    path = tmp_path / "log.eval"
    path.write_bytes(archive({"header.json": header, "summaries.json": samples}, method))
    assert read_scores(path).to_dict() == {"base": SCORES}
    path.write_bytes(archive({"header.json": header} | {f"samples/{s['id']}_epoch_1.json": s for s in samples}, method))
    assert read_scores(path).to_dict() == {"base": SCORES}
    path.write_bytes(archive({"other.json": header}, method))
    with pytest.raises(InputError, match="no finished log of Inspect"):
        read_scores(path)
    good = archive({"header.json": header, "summaries.json": samples}, method)
    for size in (5, len(good) // 2, len(good) - 10):
        path.write_bytes(good[:size])
        with pytest.raises(InputError):
            read_scores(path)


def test_words_are_scores(tmp_path):
    assert [parse_number(word) for word in ("pass", "Fail", "TRUE", "false")] == [1, 0, 1, 0]
    path = tmp_path / "scores.csv"
    path.write_text("model,item,score\nold,1,pass\nold,2,FAIL\nnew,1,true\nnew,2,false\n")
    assert read_scores(path).to_dict() == {"old": {"1": 1, "2": 0}, "new": {"1": 1, "2": 0}}
    path.write_text("item,model,baseline\n1,0.5,0.25\n")
    assert read_scores(path).to_dict() == {"model": {"1": 0.5}, "baseline": {"1": 0.25}}


def test_means_of_inspect(tmp_path):
    inspect_ai = pytest.importorskip("inspect_ai", reason="Inspect is not installed")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, includes, mean, scorer
    from inspect_ai.solver import generate

    @scorer(metrics=[mean()])
    def share():
        async def score(state, target):
            return Score(value=len(state.output.completion) / 7)

        return score

    draw = random.Random(1)
    answers = [ModelOutput.from_content("mockllm/model", draw.choice(["yes", "no", "yes, yes"])) for _ in range(60)]
    for answer in answers:
        answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    samples = [Sample(id=number, input=f"q{number}", target="yes") for number in range(10)]
    task = inspect_ai.Task(dataset=samples, solver=[generate()], scorer=[includes(), share()], epochs=3)
    for kind in ("eval", "json"):
        model = get_model("mockllm/model", custom_outputs=answers, memoize=False)
        (log,) = inspect_ai.eval(task, model=model, log_format=kind, log_dir=str(tmp_path / kind), display="none")
        for own in log.results.scores:
            found = read_scores(Path(log.location), own.name)
            (expected,) = [one.value for name, one in own.metrics.items() if name in ("accuracy", "mean")]
            assert found.values.mean() == pytest.approx(expected, abs=1e-12)
            assert found.trials["model"].shape == (3, 10)


def test_means_of_deepeval(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    monkeypatch.setenv("DEEPEVAL_RESULTS_FOLDER", str(tmp_path / "results"))
    deepeval = pytest.importorskip("deepeval", reason="deepeval is not installed")
    from deepeval.evaluate import DisplayConfig
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

    class Sevenths(BaseMetric):
        def __init__(self, threshold=0.5):
            self.threshold, self.async_mode, self.evaluation_model = threshold, False, None
            self.strict_mode = self.include_reason = False

        def measure(self, case, *_, **__):
            self.score = len(case.actual_output) % 7 / 7
            self.success, self.reason = self.score >= self.threshold, ""
            return self.score

        async def a_measure(self, case, *_, **__):
            await asyncio.sleep(0)
            return self.measure(case)

        def is_successful(self):
            return self.success

        @property
        def __name__(self):
            return "Sevenths"

    cases = [LLMTestCase(input=f"q{number}", actual_output="x" * (number**2 % 11)) for number in range(12)]
    quiet = DisplayConfig(print_results=False, show_indicator=False)
    result = deepeval.evaluate(cases, [Sevenths()], display_config=quiet)
    (file,) = (tmp_path / "results").glob("*.json")
    expected = [one.metrics_data[0].score for one in result.test_results]
    assert read_scores(file).values.mean() == pytest.approx(sum(expected) / len(expected), abs=1e-12)


def test_means_of_ragas(tmp_path):
    ragas = pytest.importorskip("ragas", reason="ragas is not installed")
    from ragas.metrics import ExactMatch, NonLLMStringSimilarity

    samples = [
        ragas.SingleTurnSample(user_input=f"what\nis, {n}?", response="abc" * (n % 4), reference="abcd" * (n % 3))
        for n in range(1, 10)
    ]
    metrics = [ExactMatch(), NonLLMStringSimilarity()]
    result = ragas.evaluate(ragas.EvaluationDataset(samples=samples), metrics=metrics, show_progress=False)
    file = tmp_path / "ragas.csv"
    result.to_pandas().to_csv(file, index=False)
    for name, mean in result._repr_dict.items():
        assert read_scores(file, name).values.mean() == pytest.approx(mean, abs=1e-12)


def test_means_of_lm_eval(tmp_path):
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    rows = [{"q": f"question {n}", "choices": ["a", "b", "c"], "answer": n % 3} for n in range(20)]
    (tmp_path / "data.jsonl").write_text(lines(*rows))
    (tmp_path / "local.yaml").write_text(
        f"task: local\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {tmp_path / 'data.jsonl'}}}}}\n"
        'test_split: test\noutput_type: multiple_choice\ndoc_to_text: "{{q}}"\ndoc_to_choice: "{{choices}}"\n'
        'doc_to_target: "{{answer}}"\nmetric_list: [{metric: acc}, {metric: acc_norm}]\n'
    )
    command = [sys.executable, "-m", "lm_eval", "--model", "dummy", "--tasks", "local", "--include_path", tmp_path,
               "--output_path", tmp_path / "out", "--log_samples"]  # fmt: skip
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")}
    subprocess.run(command, check=True, env=environment, capture_output=True)
    (samples,), (results,) = ([*(tmp_path / "out").rglob(f"{kind}*")] for kind in ("samples", "results"))
    means = json.loads(results.read_text())["results"]["local"]
    for name in ("acc", "acc_norm"):
        assert read_scores(samples, name).values.mean() == pytest.approx(means[f"{name},none"], abs=1e-12)


def test_means_of_promptfoo(tmp_path):
    program = shutil.which("promptfoo")
    if program is None:
        pytest.skip("promptfoo is not installed")
    cases = [
        {"vars": {"word": f"word {n}"}, "assert": [{"type": "contains", "value": f"word {n}", "weight": 1 + n % 3},
                                                  {"type": "equals", "value": f"say word {n % 2}"}]}
        for n in range(8)
    ]  # fmt: skip
    config = {"prompts": ["{{word}}", "say {{word}}"], "providers": ["echo"], "tests": cases}
    (tmp_path / "config.json").write_text(json.dumps(config))
    quiet = ("PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE")
    environment = (
        os.environ | dict.fromkeys(quiet, "1") | {"PROMPTFOO_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)}
    )
    command = [program, "eval", "--no-cache", "-c", "config.json", "-o", "out.json"]
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)  # exits 100, as some cases fail
    out = json.loads((tmp_path / "out.json").read_text())
    own = [prompt["metrics"] for prompt in out["results"]["prompts"]]
    for name, key in (("score", "score"), ("success", "testPassCount")):
        found = read_scores(tmp_path / "out.json", name)
        assert found.values.sum(axis=1).tolist() == pytest.approx([one[key] for one in own], abs=1e-12)
        assert (found.topics[0], len(found.topics), found.noun) == ("word 0", 8, "items")


def test_means_of_helm(tmp_path):
    metric = pytest.importorskip("helm.benchmark.metrics.metric", reason="HELM is not installed")
    from helm.benchmark.metrics.metric_name import MetricName
    from helm.benchmark.metrics.statistic import Stat
    from helm.common.general import asdict_without_nones

    values = [number % 3 / 2 for number in range(20)]
    rows = [
        metric.PerInstanceStats(f"id{number}", None, 0, [Stat(MetricName("exact_match", split="test")).add(value)])
        for number, value in enumerate(values)
    ]
    file = tmp_path / "per_instance_stats.json"
    file.write_text(json.dumps([asdict_without_nones(row) for row in rows], indent=2))
    assert read_scores(file).values.mean() == pytest.approx(sum(values) / len(values), abs=1e-12)


def test_means_of_openai_evals(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # asked for at import; nothing is sent
    record = pytest.importorskip("evals.record", reason="OpenAI evals is not installed")
    from evals.base import RunSpec

    spec = RunSpec(
        completion_fns=["dummy"], eval_name="t.dev.v0", base_eval="t", split="dev", run_config={}, created_by="x"
    )
    recorder = record.LocalRecorder(str(tmp_path / "log.jsonl"), spec)
    matches, values = [number % 3 == 0 for number in range(20)], [number % 5 / 4 for number in range(20)]
    for number, (match, value) in enumerate(zip(matches, values, strict=True)):
        with recorder.as_default_recorder(f"t.dev.{number}"):
            record.record_match(match, expected="a", picked="b")
            record.record_metrics(f1=value)
    recorder.record_final_report({"accuracy": sum(matches) / len(matches)})
    recorder.flush_events()
    for name, own in (("correct", matches), ("f1", values)):
        found = read_scores(tmp_path / "log.jsonl", name)
        assert found.values.mean() == pytest.approx(sum(own) / len(own), abs=1e-12)
        assert found.systems == ("dummy",)


def test_means_of_every_eval_ever(tmp_path):
    types = pytest.importorskip("every_eval_ever.instance_level_types", reason="every_eval_ever is not installed")
    values = [number % 3 / 2 for number in range(20)]
    answer = {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": "b",
        "extraction_method": "m",
        "is_terminal": True,
    }
    rows = [
        types.InstanceLevelEvaluationLog(
            schema_version="0.3.0", evaluation_id="e", model_id="org/model", evaluation_name="t", sample_id=str(number),
            interaction_type="single_turn", input={"raw": "q", "reference": ["a"]}, output={"raw": ["b"]},
            answer_attribution=[answer], evaluation={"score": value, "is_correct": value == 1},
        )
        for number, value in enumerate(values)
    ]  # fmt: skip
    file = tmp_path / "instances.jsonl"
    file.write_text("".join(row.model_dump_json(exclude_none=True) + "\n" for row in rows))
    assert read_scores(file, "score").mean() == {"model": pytest.approx(sum(values) / len(values), abs=1e-12)}
    assert read_scores(file, "is_correct").values.sum() == values.count(1)

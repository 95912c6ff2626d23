"""JSON Schemas against the outputs of every command, and a conversation with the server of the MCP."""

import json
import random
import subprocess
import sys

import pytest

from surefoot.cli import build_parser, installed_commands, main
from surefoot.cli.agents import TOOLS, respond
from surefoot.show.schemas import commands, schema_of

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

TOPICS = 60
RUNS = "old.run new.run third.run fourth.run --qrels qrels.txt"
BOTH = "old.run new.run --qrels qrels.txt"
PAIR = f"{BOTH} --candidate new --baseline old"
COMMANDS = {
    "evaluate": [
        f"evaluate {RUNS}",
        f"evaluate {RUNS} --baseline old --alpha 0,1",
        f"evaluate {RUNS} --baseline old,third --tail 0.1 --geometric --minus --ci --n-resamples 50 --tests all "
        "--correct holm --letters",
        f"evaluate {RUNS} --baseline old --columns system,mean,correlation,robustness,effect,"
        "rank_urisk,se_jackknife_urisk",
        f"evaluate {RUNS} --baseline old --measure nDCG@10 --measure RR --side-by-side",
        f"evaluate {RUNS} --baseline old --segments segments.csv",
        f"evaluate {RUNS} --baseline old --bayes",
        f"evaluate {BOTH} --baseline old --unjudged bounds",
        f"evaluate {BOTH} --baseline old --llm-qrels llm.qrels",
    ],
    "explore": [
        f"explore {PAIR} --queries queries.tsv --unjudged bounds --credible",
        f"explore {PAIR} --llm-qrels llm.qrels",
        f"explore {PAIR} --credible --assessors llm.qrels",
        f"explore {PAIR} --documents --credible",
        "explore --scores trials.csv --candidate new --baseline old",
    ],
    "explain": [f"explain {PAIR} --queries queries.tsv --n-resamples 100"],
    "cross": [f"cross {RUNS}", f"cross {RUNS} --by-baseline --n-resamples 50"],
    "agreement measures": [f"agreement measures {RUNS} --baseline old"],
    "agreement values": [f"agreement values {RUNS} --baseline old --value monotone"],
    "agreement correlation": [f"agreement correlation {RUNS} --baseline old"],
    "agreement pca": [f"agreement pca {RUNS}", f"agreement pca {RUNS} --axes 3 --include"],
    "agreement normality": [f"agreement normality {PAIR} --n-resamples 100"],
    "agreement g2": [f"agreement g2 {RUNS}"],
    "agreement judges": [f"agreement judges qrels.txt llm.qrels {RUNS.partition(' --')[0]} --n-resamples 20"],
    "power": ["power --loss 0.2 --share 0.1 --topics 25,50 --n-simulations 50"],
    "compare": [f"compare {BOTH}", f"compare {BOTH} --queries queries.tsv"],
    "gate": [f"gate {PAIR}", f"gate {PAIR} --evidence strict", f"gate {PAIR} --measure RR --measure nDCG@10 --alpha 1",
             f"gate {BOTH} --candidate new --ratchet ratchet.json --accept",
             f"gate {PAIR} --sequential state.json"],
    "guard fit": ["guard fit --baseline old.run --candidate new.run --qrels qrels.txt --anyway --kinds log-rank "
                  "-o guard.json"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp("agents"), random.Random(1)
    documents = [f"d{number}" for number in range(40)]
    topics = [f"q{number}" for number in range(TOPICS)]
    lines = {"queries.tsv": [f"{topic}\ttext of {topic}" for topic in topics]}
    lines["qrels.txt"] = [
        f"{topic} 0 {name} {draw.choice([0, 0, 1, 2])}" for topic in topics for name in draw.sample(documents, 25)
    ]
    lines["llm.qrels"] = [f"{topic} 0 {name} {draw.choice([0, 1, 2])}" for topic in topics for name in documents]
    lines["segments.csv"] = ["topic,segment", *(f"{topic},{'abc'[n % 3]}" for n, topic in enumerate(topics))]
    lines["trials.csv"] = ["system,trial,topic,success", *(
        f"{system},{trial},{topic},{draw.choice([0, 1])}" for system in ("old", "new") for trial in (1, 2)
        for topic in topics
    )]  # fmt: skip
    for run in ("old", "new", "third", "fourth"):
        lines[f"{run}.run"] = [
            f"{topic} Q0 {name} {rank} {99 - rank} {run}"
            for topic in topics
            for rank, name in enumerate(draw.sample(documents, 20))
        ]
    for name, text in lines.items():
        (folder / name).write_text("\n".join(text) + "\n")
    return folder


@pytest.mark.parametrize("command", [(name, line) for name, lines in COMMANDS.items() for line in lines],
                         ids=lambda command: command[1][:50])  # fmt: skip
def test_outputs_have_the_form_of_their_schema(command, folder, monkeypatch, capsys):
    name, line = command
    monkeypatch.chdir(folder)
    code = main([*line.split(), "--format", "json"])
    printed = capsys.readouterr()
    assert code in (0, 1), printed.err
    schema = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    found = json.loads(printed.out)
    jsonschema.validate(found, schema)
    del found["signature"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema)


def test_every_command_with_json_has_a_schema_and_a_test():
    parser = build_parser(installed_commands())
    own = {name for name, (_, module, _) in installed_commands().items() if module.startswith("surefoot.")}
    assert {name for name in _with_json(parser) if name.split()[0] in own} == {*commands()} == {*COMMANDS}


def _with_json(parser, name=""):
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for word, inner in action.choices.items():
                yield from _with_json(inner, f"{name} {word}".strip())
        elif "--format" in action.option_strings and "json" in action.choices:
            yield name


def test_an_unknown_column_is_no_part_of_the_schema(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    main([*COMMANDS["evaluate"][0].split(), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    found["rows"][0]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema_of("evaluate"))


def test_the_command_prints_schemas(capsys):
    assert main(["schema", "agreement", "pca"]) == 0
    assert json.loads(capsys.readouterr().out) == schema_of("agreement pca")
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == {*commands()}
    assert main(["schema", "gat"]) == 2
    assert "did you mean gate?" in capsys.readouterr().err


def test_a_conversation(folder):
    """What a client sends over standard input, and what the server answers."""
    runs = {"runs": ["old.run", "new.run"], "qrels": "qrels.txt"}
    pair = {**runs, "candidate": "new", "baseline": ["old"]}
    calls = {
        "compare": runs,
        "gate": {**pair, "off": "tail", "mean_tolerance": 0.5},
        "evaluate": {**runs, "baseline": ["old"], "geometric": True, "alpha": "0,1"},
        "explore": {**runs, "candidate": "new", "baseline": "old", "top": 3},
    }
    refused = [
        ("compare", {**runs, "qrels": "absent.txt"}),
        ("gate", {**pair, "undecided": "maybe"}),
    ]
    wrong = [("gate", {**pair, "junit": "x.xml"}), ("gate", {**pair, "ratchet": "x.json"}), ("train", {}),
             ("evaluate", {"scores": ["a.csv", "--output=x.csv"]})]  # fmt: skip
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    requests = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": "list", "method": "tools/list"},
        *({"id": name, "method": "tools/call", "params": {"name": name, "arguments": own}}
          for name, own in calls.items()),
        *({"id": f"refused {n}", "method": "tools/call", "params": {"name": name, "arguments": own}}
          for n, (name, own) in enumerate(refused)),
        *({"id": f"wrong {n}", "method": "tools/call", "params": {"name": name, "arguments": own}}
          for n, (name, own) in enumerate(wrong)),
        {"id": "ping", "method": "ping"},
        {"id": "no", "method": "resources/list"},
    ]  # fmt: skip
    before = {path.name for path in folder.iterdir()}
    lines = [json.dumps({"jsonrpc": "2.0", **request}) for request in requests]
    said = subprocess.run(
        [sys.executable, "-c", "from surefoot.cli import main; main(['mcp'])"],
        input="\n".join([*lines, "{broken"]) + "\n", cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert said.stderr == ""
    *answers, last = map(json.loads, said.stdout.splitlines())
    assert last["error"]["code"] == -32700
    found = {answer["id"]: answer for answer in answers}
    assert list(found) == [request["id"] for request in requests if "id" in request]
    assert found[0]["result"]["protocolVersion"] == "2025-06-18"
    assert found["ping"]["result"] == {}
    assert found["no"]["error"]["code"] == -32601
    tools = {tool["name"]: tool for tool in found["list"]["result"]["tools"]}
    assert [*tools] == [*TOOLS]
    for name, own in calls.items():
        jsonschema.validate(own, tools[name]["inputSchema"])
        result = found[name]["result"]
        assert "isError" not in result, result
        jsonschema.validate(result["structuredContent"], tools[name]["outputSchema"])
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert [
        rule["limit"] for rule in found["gate"]["result"]["structuredContent"]["rules"] if rule["name"] == "mean"
    ] == [0.5]
    assert len(found["explore"]["result"]["structuredContent"]["rows"]) == 3
    assert "absent.txt" in found["refused 0"]["result"]["content"][0]["text"]
    assert all(found[f"refused {n}"]["result"]["isError"] for n in range(len(refused)))
    assert all(found[f"wrong {n}"]["error"]["code"] == -32602 for n in range(len(wrong)))
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([1], "must be an object"), ({"qrels": "-"}, "can't be standard input"), ({"pin": True}, "no argument 'pin'")],
)
def test_wrong_arguments_leave_the_server_running(arguments, message):
    params = {"name": "gate", "arguments": arguments}
    answer = respond(json.dumps({"id": 1, "method": "tools/call", "params": params}))
    assert message in answer["error"]["message"]


@pytest.mark.parametrize("key", ["ratchet", "sequential"])
def test_a_tool_writes_no_file_that_the_configuration_names(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text("topic,old,new\nq1,0.5,0.25\nq2,1,0\n")
    (tmp_path / "surefoot.toml").write_text(f'[gate]\n{key} = "kept.json"\n')
    params = {"name": "gate", "arguments": {"scores": ["scores.csv"], "candidate": "new", "baseline": "old"}}
    answer = respond(json.dumps({"id": 1, "method": "tools/call", "params": params}))
    assert "only written by surefoot gate" in answer["error"]["message"]
    assert not (tmp_path / "kept.json").exists()


@pytest.mark.parametrize("name", ["NaN", "1e999", "0.5", "[1]", "null"])
def test_an_answer_repeats_only_ids_that_the_protocol_has(name):
    answer = respond(f'{{"id": {name}, "method": "ping"}}')
    assert answer["id"] is None
    assert "as the id" in answer["error"]["message"]

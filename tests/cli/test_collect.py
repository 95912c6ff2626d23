"""surefoot collect against a server on this machine, also one that answers badly."""

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from surefoot import read_run
from surefoot.cli import collect, main

HITS = {"red shoes": [("d2", 2.5), ("d1", 1.5)], 'blue "hat"': [("d9", 7.0)], "nothing": []}


class Server(ThreadingHTTPServer):
    """Answers as Elasticsearch (POST) and Solr (GET) do; ``behave`` may answer first."""

    daemon_threads = True

    def __init__(self):
        self.asked, self.seen, self.behave = [], [], lambda handler: False
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/shop/_search"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["query"]["match"]["title"]
        self.reply(text, {"hits": {"hits": [{"_id": name, "_score": score} for name, score in HITS[text]]}})

    def do_GET(self):
        (text,) = parse_qs(urlsplit(self.path).query)["q"]
        self.reply(text, {"response": {"docs": [{"id": name} for name, _ in HITS[text]]}})

    def reply(self, text, answer):
        self.server.asked.append(text)
        self.server.seen.append(self.headers["Authorization"])
        if not self.server.behave(self):
            self.answer(200, json.dumps(answer).encode())

    def answer(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return True

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def ask(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(collect, "_wait", lambda error, attempt: 0.0)
    monkeypatch.delenv(collect.AUTHORIZATION, raising=False)
    (tmp_path / "body.json").write_text('{"query": {"match": {"title": "{{query}}"}}, "size": 10}')
    (tmp_path / "q.csv").write_text('qid,query\n1,red shoes\n2,"blue ""hat"""\n3,nothing\n')

    def ask(*words, url=server.url, template=("--template", "body.json")):
        return main(["collect", "--url", url, *template, "--queries", "q.csv", "-o", "new.run", "--rate", "0", *words])

    return ask


def test_elasticsearch(server, ask, tmp_path, capsys):
    assert ask() == 0
    assert (tmp_path / "new.run").read_text() == (
        "1 Q0 d2 1 2.5 collected\n1 Q0 d1 2 1.5 collected\n2 Q0 d9 1 7.0 collected\n"
    )
    assert server.asked == list(HITS)
    assert "nothing was found for 1 query: 3" in capsys.readouterr().err
    assert not (tmp_path / "new.run.partial").exists()
    assert ask() == 2  # the file exists


def test_queries_of_a_quepid_case_are_their_own_ids(ask, tmp_path, capsys):
    (tmp_path / "q.csv").write_text("query,docid,rating\nred shoes,d1,3\nred shoes,d2,0\nnothing\n")
    assert ask() == 0
    assert capsys.readouterr().out == "new.run: 2 queries, 2 documents\n"
    run = read_run("new.run")
    assert (run.topics, run.documents) == (("red shoes",), ["d2", "d1"])
    assert main(["scores", "new.run", "--qrels", "q.csv", "--measure", "RR"]) == 0
    assert "red shoes,0.5" in capsys.readouterr().out


def test_solr_without_scores(server, ask):
    assert ask(url=server.url + "?q={{query}}&key=secret", template=()) == 0
    assert read_run("new.run").documents == ["d2", "d1", "d9"]


def test_credentials_come_from_the_environment_only(server, ask, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(collect.AUTHORIZATION, "ApiKey secret")
    server.behave = lambda handler: len(server.asked) == 3 and handler.answer(403)
    assert ask() == 2
    assert set(server.seen) == {"ApiKey secret"}
    shown = capsys.readouterr()
    written = "".join(file.read_text() for file in tmp_path.iterdir())
    assert "secret" not in shown.out + shown.err + written
    assert "answer 403 to query 'nothing'" in shown.err
    assert ask(url="http://me:secret@127.0.0.1/") == 2
    assert "secret" not in capsys.readouterr().err


def test_failures_that_pass(server, ask):
    server.behave = lambda handler: len(server.asked) % 3 and handler.answer((429, 503)[len(server.asked) % 2])
    assert ask() == 0
    assert server.asked == [text for text in HITS for _ in range(3)]


def test_it_goes_on_after_the_queries_that_are_done(server, ask, tmp_path, capsys):
    server.behave = lambda handler: len(server.asked) == 2 and handler.answer(400)
    assert ask() == 2
    with (tmp_path / "new.run.partial").open("a") as file:
        file.write('["')  # cut off
    server.behave, server.asked[:] = (lambda handler: False), []
    assert ask() == 0
    assert server.asked == list(HITS)[1:]
    (tmp_path / "new.run").unlink()
    (tmp_path / "new.run.partial").write_text('["other", "1", []]\n')
    assert ask() == 2
    assert "another request" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    ["notes of mine", "7\n", '[7, "1", []]\n', "null\n", "[" * 100_000 + "\n", '["{}", ["1"], []]\n',
     '["{}", "1", [[2]]]\n', '["{}", "1", [["d1", "x"]]]\n', '["{}", "1", [["d1", NaN]]]\n'],
)  # fmt: skip
def test_another_file_in_the_place_of_kept_answers_is_left_alone(server, ask, tmp_path, capsys, content):
    server.behave = lambda handler: len(server.asked) == 2 and handler.answer(400)
    assert ask() == 2
    kept = tmp_path / "new.run.partial"
    written = content.replace("{}", json.loads(kept.read_text())[0])
    kept.write_text(written)
    capsys.readouterr()
    assert ask() == 2
    assert "answers to another request" in capsys.readouterr().err
    assert kept.read_text() == written


def test_nothing_is_kept_before_the_first_answer(server, ask, tmp_path):
    server.behave = lambda handler: handler.answer(404)
    assert ask() == 2
    assert not (tmp_path / "new.run.partial").exists()


def test_a_redirect_is_not_followed(server, ask, capsys):
    server.behave = lambda handler: handler.answer(302, Location="http://127.0.0.1:1/elsewhere")
    assert ask() == 2
    assert "answer 302" in capsys.readouterr().err
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[]", b'{"hits": 7}', b'{"hits": {"hits": [{}]}}', b"[" * 100_000, b"\xff",
     *(b'{"hits": {"hits": [{"_id": "d", "_score": %b}]}}' % score for score in (b"NaN", b"9" * 400, b'"1"', b"true")),
     b'{"hits": {"hits": [{"_id": null}]}}', b'{"hits": {"hits": [{"_id": ["d"]}]}}'],
)  # fmt: skip
def test_wrong_answers(server, ask, capsys, body):
    server.behave = lambda handler: handler.answer(200, body)
    assert ask() == 2
    assert "not JSON of Elasticsearch" in capsys.readouterr().err


def test_a_huge_answer(server, ask, monkeypatch, capsys):
    monkeypatch.setattr(collect, "LARGEST_ANSWER", 1000)
    server.behave = lambda handler: handler.answer(200, b" " * 100_000 + b"{}")
    assert ask() == 2
    assert "not JSON" in capsys.readouterr().err


def test_slow_answers(server, ask, capsys):
    def dribble(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(50):
            handler.wfile.write(b" ")
            time.sleep(0.02)
        return True

    server.behave = dribble
    assert ask("--timeout", "0.2", "--retries", "1") == 2
    assert "timed out to query 'red shoes'" in capsys.readouterr().err
    assert len(server.asked) == 2


def test_slow_headers(server, ask, capsys):
    """Each byte comes within the timeout, but the head of the answer never ends."""

    def dribble(handler):
        with suppress(OSError):  # the client has gone
            handler.wfile.write(b"HTTP/1.0 200 OK\r\nX-Long: ")
            for _ in range(1000):
                handler.wfile.write(b"x")
                time.sleep(0.02)
        handler.close_connection = True
        return True

    server.behave = dribble
    assert ask("--timeout", "0.2", "--retries", "1") == 2
    assert "timed out to query 'red shoes'" in capsys.readouterr().err
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("url", "template", "message"),
    [
        ("ftp://x/{{query}}", (), "http:// or https://"),
        ("http://x/", (), "neither --template nor --url has {{query}}"),
        ("http://127.0.0.1:1/{{query}}", (), "refused"),
        ("http://x/", ("--template", "q.csv"), "q.csv: not JSON"),
    ],
)
def test_wrong_use(ask, capsys, url, template, message):
    assert ask("--retries", "0", url=url, template=template) == 2
    assert message in capsys.readouterr().err


def test_waits_double_and_follow_the_server():
    assert [collect._wait(None, attempt) for attempt in range(4)] == [0.5, 1, 2, 4]
    assert collect._wait(None, 20) == collect.LONGEST_WAIT

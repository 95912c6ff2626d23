"""surefoot collect: send queries to a search engine, and write its rankings as a run."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request

from surefoot.cli.inputs import progress
from surefoot.cli.options import QUERIES, Command, NewFile, number, option
from surefoot.errors import SurefootError, counted, listed
from surefoot.io.files import parse_json, read_bytes
from surefoot.io.http import bounded_opener
from surefoot.io.shapes import fits

PLACEHOLDER = "{{query}}"
AUTHORIZATION = "SUREFOOT_AUTHORIZATION"
"""The environment variable with the value of the header ``Authorization``; it is never written or shown."""
LARGEST_ANSWER = 1 << 26
LONGEST_WAIT = 60.0
RETRIED = (429, 500, 502, 503, 504)
"""Status codes after which the request is sent again."""


class NoRedirects(HTTPRedirectHandler):
    """Refuse to follow a redirect, which would send the credentials to another server."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


@dataclass(frozen=True)
class Engine:
    """Where to send queries: a URL and the body of the request; one of them has ``{{query}}`` in it."""

    url: str
    template: Any
    retries: int
    timeout: float

    @property
    def address(self) -> str:
        """The address for messages, without parameters, which may hold keys."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def ask(self, query: str) -> list[tuple[str, float]]:
        """The documents for a query, best first; temporary failures are retried."""
        for attempt in range(max(0, self.retries) + 1):
            try:
                return ranking(json.loads(self._send(query)))
            except HTTPError as error:
                problem, wait = f"answer {error.code}", _wait(error, attempt)
                if error.code not in RETRIED:
                    break
            except (OSError, HTTPException) as error:
                problem, wait = str(getattr(error, "reason", error)) or type(error).__name__, _wait(None, attempt)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                problem = "an answer that is not JSON of Elasticsearch, OpenSearch or Solr"
                break
            if attempt < self.retries:
                time.sleep(wait)
        raise SurefootError(f"{self.address}: {problem} to query {query[:60]!r}; the queries done so far are kept")

    def _send(self, query: str) -> bytes:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if own := os.environ.get(AUTHORIZATION):
            headers["Authorization"] = own
        body = None if self.template is None else json.dumps(filled(self.template, query)).encode()
        request = Request(self.url.replace(PLACEHOLDER, quote(query, safe="")), body, headers)
        end, parts, size = time.monotonic() + self.timeout, [], 0
        with bounded_opener(NoRedirects).open(request, timeout=self.timeout) as answer:
            while part := answer.read1(1 << 16):
                parts.append(part)
                size += len(part)
                if size > LARGEST_ANSWER:
                    raise ValueError
                if time.monotonic() > end:
                    raise TimeoutError("timed out")
        return b"".join(parts)


def _wait(error: HTTPError | None, attempt: int) -> float:
    """Seconds until the next attempt: as the server asks, else doubled each time."""
    asked = (error.headers.get("Retry-After") or "") if error is not None else ""
    return min(float(asked) if asked.isdecimal() else 0.5 * 2**attempt, LONGEST_WAIT)


def filled(template: Any, query: str) -> Any:
    """A template with the query in place of ``{{query}}``, in texts at any depth.

    >>> filled({"match": {"title": "{{query}}"}, "size": 10}, 'a "b"')
    {'match': {'title': 'a "b"'}, 'size': 10}
    """
    if isinstance(template, dict):
        return {name: filled(value, query) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(value, query) for value in template]
    return template.replace(PLACEHOLDER, query) if isinstance(template, str) else template


def ranking(answer: Any) -> list[tuple[str, float]]:
    """The documents in an answer, best first; if scores are missing, the order makes them."""
    if "hits" in answer:
        hits = [[hit["_id"], hit.get("_score")] for hit in answer["hits"]["hits"]]
    else:
        hits = [[hit["id"], hit.get("score")] for hit in answer["response"]["docs"]]
    if any(score is None for _, score in hits):
        hits = [[name, -rank] for rank, (name, _) in enumerate(hits, start=1)]
    if not fits(hits, [[(str, int), float]]):
        raise ValueError
    return [(str(name), float(score)) for name, score in hits]


def run_collect(arguments: argparse.Namespace) -> int:
    """Send each query, keep the answers, and write the run at the end."""
    from surefoot.io.atomic import digest_of, write_text
    from surefoot.io.texts import read_queries
    from surefoot.io.trec_writer import run_lines, separator_for

    engine = _engine(arguments)
    texts = read_queries(arguments.queries)
    kept = Path(f"{arguments.output}.partial")
    request = digest_of(json.dumps([engine.url, engine.template, sorted(texts.items())]), 8)
    found = dict(_kept(kept, request))
    pause = 1 / arguments.rate if arguments.rate else 0.0
    with progress("Asking ...") as report:
        for topic, text in texts.items():
            if topic in found:
                continue
            begin = time.monotonic()
            found[topic] = engine.ask(text)
            if not all(_is_writable(name) for name in (topic, *(name for name, _ in found[topic]))):
                raise SurefootError(f"query {topic!r}: ids with tabs or line breaks can't be written to a run")
            with kept.open("a", encoding="utf-8") as file:
                print(json.dumps([request, topic, found[topic]]), file=file)
            report(len(found), len(texts), f"{len(found):,} of {counted(len(texts), 'query')}")
            time.sleep(max(0.0, begin + pause - time.monotonic()))
    empty = [topic for topic in texts if not found[topic]]
    ids = [*texts, *(name for documents in found.values() for name, _ in documents)]
    lines = run_lines(((topic, found[topic]) for topic in texts), "collected", separator=separator_for(ids))
    write_text(arguments.output, "".join(lines))
    kept.unlink(missing_ok=True)
    print(f"{arguments.output}: {counted(len(texts), 'query')}, {counted(len(ids) - len(texts), 'document')}")
    if empty:
        print(f"note: nothing was found for {counted(len(empty), 'query')}: {listed(empty)}", file=sys.stderr)
    return 0


def _is_writable(name: str) -> bool:
    """Whether a run can hold an id."""
    return bool(name) and name.isprintable() and name == name.strip()


def _engine(arguments: argparse.Namespace) -> Engine:
    parts = urlsplit(arguments.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SurefootError("--url takes an address that begins with http:// or https://")
    if "@" in parts.netloc:
        raise SurefootError(f"--url has credentials in it; give them by the environment variable {AUTHORIZATION}")
    template = None
    if arguments.template:
        try:
            template = parse_json(read_bytes(arguments.template))
        except ValueError as error:
            raise SurefootError(f"{arguments.template}: not JSON ({error})") from None
    if PLACEHOLDER not in json.dumps(template) + arguments.url:
        raise SurefootError(f"neither --template nor --url has {PLACEHOLDER}, where the text of the query goes")
    return Engine(arguments.url, template, arguments.retries, arguments.timeout)


def _kept(path: Path, request: str) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """The answers that an earlier call kept for the same request; an incomplete last line is removed."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    start = json.dumps([request])[:-1].encode()
    for line in lines:
        if not line.endswith(b"\n") and line.startswith(start[: len(line)]):
            os.truncate(path, sum(map(len, lines[:-1])))
            return
        try:
            answer = parse_json(line)
        except ValueError:
            answer = None
        if not fits(answer, [request, str, [[str, float]]]):
            raise SurefootError(f"{path} has answers to another request; remove it, or name another output")
        yield answer[1], [(name, score) for name, score in answer[2]]


COMMANDS = {
    "collect": Command(
        run_collect,
        (
            option("--url", required=True, metavar="URL",
                   help="where queries are sent: _search of Elasticsearch or OpenSearch, select of Solr"),
            option("--template", metavar="FILE",
                   help=f"JSON body of the request with {PLACEHOLDER} in it; without one, {PLACEHOLDER} is in the URL"),
            QUERIES.but(required=True),
            option("-o", "--output", type=NewFile, required=True, metavar="FILE", help="the run to write"),
            option("--rate", type=number, default=10.0, metavar="N",
                   help="requests per second; 0 is no limit (default: 10)"),
            option("--retries", type=int, default=4, metavar="N", help="further attempts after a failure (default: 4)"),
            option("--timeout", type=number, default=30.0, metavar="S", help="seconds for one answer (default: 30)"),
        ),
    ),
}  # fmt: skip

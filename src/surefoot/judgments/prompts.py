"""Prompts for a language model that grades documents, and its answers as grades; nothing here calls a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from surefoot.errors import InputError, SurefootError, listed
from surefoot.judgments.judged_runs import JudgedRuns

PROMPT = """You grade how well a text answers a search query. Use only what the text says.

3: the text is about the query and gives the exact answer, without much else
2: the text has some of the answer, or the answer among other matters
1: the text is about the query's topic, but does not answer it
0: the text has nothing to do with the query

Query: {query}
Text: {text}

First consider what the searcher wants, then how far the text meets it. End with a line "grade: N", N from 0 to 3.
"""
GRADE = re.compile(r"(?:grade|score|relevance)\W{0,6}(\d)\b", re.IGNORECASE)
"""A grade in an answer; the last one counts."""


def ungraded(runs: JudgedRuns) -> list[tuple[str, str]]:
    """The documents that a run has down to the cutoff and some language model did not grade, as topic and document."""
    found = {}
    for index, topic in enumerate(runs.topics):
        ids: dict[int, str] = {}
        for ranking in runs.rankings.values():
            ids |= ranking.documents(index, runs.depth)
        known = [set(one.of_topic(topic)) for one in runs.llm_qrels]
        left = {document for document in ids.values() if not (known and all(document in own for own in known))}
        found[topic] = sorted(left)
    return [(topic, document) for topic, own in found.items() for document in own]


def prompt_lines(
    pairs: Iterable[tuple[str, str]], queries: Mapping[str, str], texts: Mapping[str, str], model: str
) -> Iterator[str]:
    """A request for each topic and document, as a line of a batch file of chat completions.

    Parameters
    ----------
    pairs
        Topics and documents.
    queries, texts
        The texts of topics and documents; one that is not there is an error.
    model
        The name of the model that the requests are for.

    Returns
    -------
    iterator
        Lines of JSON; ``custom_id`` is the topic and the document as a JSON list.
    """
    chosen = list(pairs)
    absent = [one for one in dict.fromkeys(topic for topic, _ in chosen) if one not in queries]
    absent += [one for one in dict.fromkeys(document for _, document in chosen) if one not in texts]
    if absent:
        raise SurefootError(f"no text of {listed(absent, most=5)}; give all with --queries and --documents-text")
    for topic, document in chosen:
        message = {"role": "user", "content": PROMPT.format(query=queries[topic], text=texts[document])}
        yield _line(json.dumps([topic, document]), {"model": model, "messages": [message]})


def _line(name: str, body: Mapping[str, Any]) -> str:
    request = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(request, ensure_ascii=False) + "\n"


def read_answers(path: str, lines: Iterable[str]) -> dict[str, dict[str, int]]:
    """The grades in the answers to `prompt_lines`, by topic and document.

    A line is an answer of a batch of chat completions, or has ``topic``, ``document`` and ``grade``.

    >>> line = '{"topic": "q1", "document": "d7", "grade": 2}'
    >>> read_answers("answers.jsonl", [line])
    {'q1': {'d7': 2}}
    """
    found: dict[str, dict[str, int]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            topic, document, grade = _answer(json.loads(line))
        except (ValueError, KeyError, TypeError, IndexError):
            raise InputError(
                path, 'expected {"topic", "document", "grade"}, or an answer that ends with "grade: N"', number
            ) from None
        if found.setdefault(topic, {}).setdefault(document, grade) != grade:
            raise InputError(path, f"topic {topic}: {document} has two grades; keep one line", number)
    if not found:
        raise InputError(path, "no answers; give the lines that the model's batch returned")
    return found


def _answer(row: Mapping[str, Any]) -> tuple[str, str, int]:
    if "grade" in row:
        return str(row["topic"]), str(row["document"]), int(row["grade"])
    topic, document = json.loads(row["custom_id"])
    content = row["response"]["body"]["choices"][0]["message"]["content"]
    return topic, document, int(GRADE.findall(content)[-1])

"""Prompts for a language model that grades documents, and its answers as grades; nothing here calls a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from surefoot.errors import InputError, SurefootError, counted, listed
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
GRADES = range(4)
"""The grades that the prompt asks for."""
_NUMBER = r"\W{0,6}(?<!\s-)(\d+)\b(?!\.\d)"
GRADE, SCORE = (re.compile(word + _NUMBER, re.IGNORECASE) for word in ("grade", "(?:score|relevance)"))
"""A grade in an answer; the last one counts, and a score counts only where there is no grade."""


def ungraded(runs: JudgedRuns) -> list[tuple[str, str]]:
    """The documents down to the cutoff of any run that some language model did not grade, as topic and document."""
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
        request = {"custom_id": json.dumps([topic, document]), "method": "POST", "url": "/v1/chat/completions"}
        yield json.dumps({**request, "body": {"model": model, "messages": [message]}}, ensure_ascii=False) + "\n"


def read_answers(path: str, data: bytes) -> tuple[dict[str, dict[str, int]], int]:
    """The grades in the answers to `prompt_lines`, by topic and document, and the number of requests that failed.

    A line is an answer of a batch of chat completions, or has ``topic``, ``document`` and ``grade``.

    >>> read_answers("answers.jsonl", b'{"topic": "q1", "document": "d7", "grade": 2}')
    ({'q1': {'d7': 2}}, 0)
    """
    found: dict[str, dict[str, int]] = {}
    failed = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        answer = _parsed(path, line, number)
        if answer is None:
            failed += 1
            continue
        topic, document, grade = answer
        if found.setdefault(topic, {}).setdefault(document, grade) != grade:
            raise InputError(path, f"topic {topic}: {document} has two grades; keep one line", number)
    if not found:
        hint = f"; {counted(failed, 'request')} failed" if failed else ""
        raise InputError(path, f"no answers{hint}; give the lines that the model's batch returned")
    return found, failed


def _parsed(path: str, line: bytes, number: int) -> tuple[str, str, int] | None:
    """The topic, document and grade of a line; None if the request failed."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
        if _has_failed(row):
            return None
        topic, document, grade = _answer(row)
    except UnicodeDecodeError:
        raise InputError(path, "expected UTF-8 text; write the file again in UTF-8", number) from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise InputError(
            path, 'expected {"topic", "document", "grade"}, or an answer that ends with "grade: N"', number
        ) from None
    if isinstance(grade, bool) or grade not in GRADES:
        raise InputError(path, f"expected a whole number from 0 to {GRADES[-1]} as the grade, found {grade}", number)
    if not all(name.split() == [name] for name in (topic, document)):
        raise InputError(path, f"topic {topic!r}, document {document!r}: ids can't have blanks in qrels", number)
    return topic, document, int(grade)


def _has_failed(row: Mapping[str, Any]) -> bool:
    """Whether a line of a batch has an error in place of an answer."""
    if "custom_id" not in row or "grade" in row:
        return False
    answer = row.get("response", {})
    return bool(answer is None or row.get("error") or answer.get("body", {}).get("error"))


def _answer(row: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Topic and document, and the grade as the line has it."""
    if "grade" in row:
        grade = row["grade"]
        return str(row["topic"]), str(row["document"]), int(grade) if isinstance(grade, str) else grade
    topic, document = json.loads(row["custom_id"])
    content = row["response"]["body"]["choices"][0]["message"]["content"]
    return str(topic), str(document), int((GRADE.findall(content) or SCORE.findall(content))[-1])

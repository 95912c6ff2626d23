"""A search task from the standard library: find the object that a sentence describes.

A query is the first sentence of an object's docstring; the documents are the rest of the docstrings. So queries
describe documents in the author's own words, and relevance is known without assessors.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from surefoot_lab.demo.docstrings import Docstring, docstrings
from surefoot_lab.retrieval.collection import Collection
from surefoot_lab.retrieval.index import terms

LEAST_QUERY_TERMS, MOST_QUERY_TERMS = 3, 20
LEAST_DOCUMENT_TERMS = 5
MOST_ANSWERS = 5
"""A sentence that describes more objects than this is boilerplate ("Initialize self."), not a query."""

ANSWER, COUNTERPART, NEIGHBOUR = 4, 2, 1
"""Grades on the scale of the TREC Web track: 4 the target page, 2 highly relevant, 1 relevant."""


def collection() -> Collection:
    """The task made of the standard library of the running Python; deterministic for one version of Python."""
    return collection_of(docstrings().values())


def collection_of(found: Iterable[Docstring]) -> Collection:
    """The task made of given docstrings.

    Ids of documents are qualified names; a topic has the name of the (first) object that it asks for.

    >>> text = "Cut the loaf into slices. The knife should be long, sharp and clean."
    >>> task = collection_of([Docstring("kitchen.slice", text)])
    >>> task.queries, task.qrels
    ({'kitchen.slice': 'Cut the loaf into slices.'}, {'kitchen.slice': {'kitchen.slice': 4}})
    """
    objects, documents, summaries = {}, {}, {}
    for docstring in sorted(found, key=lambda each: each.name):
        summary, rest = split_summary(docstring.text)
        if len(terms(rest)) >= LEAST_DOCUMENT_TERMS:
            objects[docstring.name] = docstring
            documents[docstring.name] = rest
            summaries[docstring.name] = summary
    answers = _answers(summaries)
    queries = {names[0]: summary for summary, names in answers.items()}
    return Collection(documents, queries, _grade(objects, answers))


def split_summary(text: str) -> tuple[str, str]:
    r"""The first sentence of a docstring, and the rest: signatures before it, and the text after it.

    >>> split_summary("sin(x) -> float\n\nThe sine of x. In radians.\n\nNever above 1.")
    ('The sine of x.', 'sin(x) -> float\n\nIn radians.\n\nNever above 1.')
    """
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    first = next((paragraph for paragraph in paragraphs if not _SIGNATURE.match(paragraph)), paragraphs[0])
    sentence = _SENTENCE.match(first)
    summary = sentence.group() if sentence else first
    others = [paragraph.replace(summary, " ").strip() for paragraph in paragraphs]
    return summary, "\n\n".join(filter(None, others))


# A call at the very start, as in "S.find(sub[, start]) -> int"; prose puts a space before its brackets.
_SIGNATURE = re.compile(r"[\w.\[\]]+\(")
# Up to a full stop or colon before a capital or the end; "3.5" and "e.g. Python" end nothing.
_SENTENCE = re.compile(r".{10,}?(?<!e\.g)(?<!i\.e)[.:!?](?=\s+[A-Z(`'\"]|$)")


def _answers(summaries: Mapping[str, str]) -> dict[str, list[str]]:
    """Sentences that can be a query, each with the objects that it describes; the first is public."""
    described = defaultdict(list)
    for name in sorted(summaries, key=lambda name: (not _is_public(name), name)):
        described[summaries[name]].append(name)
    return {
        summary: names
        for summary, names in described.items()
        if len(names) <= MOST_ANSWERS
        and _is_public(names[0])
        and LEAST_QUERY_TERMS <= len(terms(summary)) <= MOST_QUERY_TERMS
    }


def _is_public(name: str) -> bool:
    return not any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def _grade(objects: Mapping[str, Docstring], answers: Mapping[str, list[str]]) -> dict[str, dict[str, int]]:
    """Grades: the object itself and those described by the same sentence, its counterparts, its neighbours.

    Counterparts have the same name in another class of the same module (`bytes.split` for `str.split`). Neighbours
    are the class that the object belongs to and that class's other members. Whole modules are not neighbours: the
    number of relevant documents would depend on the size of a module.
    """
    counterparts, neighbours = defaultdict(list), defaultdict(list)
    for name, docstring in objects.items():
        counterparts[_counterpart_key(docstring)].append(name)
        neighbours[docstring.owner or name].append(name)
    qrels = {}
    for names in answers.values():
        grades: dict[str, int] = {}
        for name in names:
            grades |= dict.fromkeys(neighbours[objects[name].owner or name], NEIGHBOUR)
        for name in names:
            grades |= dict.fromkeys(counterparts[_counterpart_key(objects[name])], COUNTERPART)
        grades |= dict.fromkeys(names, ANSWER)
        qrels[names[0]] = dict(sorted(grades.items()))
    return qrels


def _counterpart_key(docstring: Docstring) -> tuple[str, str]:
    name, owner = docstring.name, docstring.owner
    if owner is None or name.endswith("__"):
        return name, ""  # functions and classes have no counterparts, and every class has an __init__
    return owner.rpartition(".")[0], name.rpartition(".")[2]

import os
import re
import subprocess
import sys

import pytest
from surefoot_lab.demo.docstrings import Docstring
from surefoot_lab.demo.task import ANSWER, COUNTERPART, NEIGHBOUR, collection, collection_of, split_summary
from surefoot_lab.retrieval.index import terms

from surefoot.errors import SurefootError


def test_the_task_is_large_enough_to_measure_on(library):
    assert len(library.documents) >= 2000
    assert len(library.queries) >= 1500
    assert len(library.qrels) == len(library.queries)
    assert sum(map(len, library.qrels.values())) < 20 * len(library.queries)


def test_ids_are_words(library):
    for name in (*library.documents, *library.queries):
        assert re.fullmatch(r"\S+", name)


def test_every_topic_is_the_name_of_an_answer(library):
    for topic, grades in library.qrels.items():
        assert grades[topic] == ANSWER
        assert grades.keys() <= library.documents.keys()
        assert set(grades.values()) <= {ANSWER, COUNTERPART, NEIGHBOUR}


def test_no_document_contains_the_query_that_asks_for_it(library):
    for topic, query in library.queries.items():
        for document, grade in library.qrels[topic].items():
            if grade == ANSWER:
                assert query not in " ".join(library.documents[document].split())


def test_queries_differ_and_have_words_to_search_for(library):
    assert len(set(library.queries.values())) == len(library.queries)
    assert all(len(terms(query)) >= 3 for query in library.queries.values())


def test_nobody_asks_for_private_objects(library):
    assert not any(re.search(r"(^|\.)_(?!.*__(\.|$))", topic) for topic in library.queries)


def test_it_is_the_same_elsewhere_and_imports_nothing_for_it(library):
    """In another process hashes have another order; and of the modules read there, none was run."""
    program = (
        "import sys; from surefoot_lab.demo.task import collection; task = collection();"
        "print([name for name in ('this', 'antigravity', 'turtle', 'tkinter', 'asyncio') if name in sys.modules]);"
        "sys.stdout.write(repr(task))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    imported, _, task = run.stdout.decode().partition("\n")
    assert imported == "[]"
    assert task == repr(library)


def test_well_known_objects_are_there(library):
    names = {"json.dumps", "builtins.str.partition", "collections.Counter", "bisect.insort_right", "os.walk"}
    assert names <= library.documents.keys()
    assert "concurrent.futures.Future.cancel" in library.queries
    asked = "Partition the string into three parts using the given separator."
    assert library.queries["builtins.str.partition"] == asked


@pytest.mark.parametrize(
    ("text", "summary", "rest"),
    [
        ("Only one line", "Only one line", ""),
        ("Sum up numbers.  Slowly.", "Sum up numbers.", "Slowly."),
        ("Uses e.g. Python 3.5 or so.\n\nMore.", "Uses e.g. Python 3.5 or so.", "More."),
        ("f(x) -> y\n\nTurn x into y.\n\nAt once.", "Turn x into y.", "f(x) -> y\n\nAt once."),
        ("f(x) -> y", "f(x) -> y", ""),
        ("Say it twice.\n\nSay it twice. Then stop.", "Say it twice.", "Then stop."),
        ("A line\nbroken in two.\n \nEnd.", "A line broken in two.", "End."),
    ],
)
def test_summaries(text, summary, rest):
    assert split_summary(text) == (summary, rest)


def test_grades():
    rest = "\n\nLong enough text about red, green, blue, violet paint."
    task = collection_of(
        [
            Docstring("m.A", "Holds many bright colours." + rest),
            Docstring("m.A.mix", "Mix two of the colours." + rest, "m.A"),
            Docstring("m.A.wash", "Wash all brushes quickly." + rest, "m.A"),
            Docstring("m.B.mix", "Blend both kinds of paint." + rest, "m.B"),
            Docstring("m.wash", "Clean every brush thoroughly." + rest),
            Docstring("n.C.mix", "Stir three sorts of soup." + rest, "n.C"),
            Docstring("n.D.mix_again", "Mix two of the colours." + rest, "n.D"),
        ]
    )
    assert task.qrels["m.A.mix"] == {
        "m.A": NEIGHBOUR,
        "m.A.mix": ANSWER,
        "m.A.wash": NEIGHBOUR,
        "m.B.mix": COUNTERPART,
        "n.D.mix_again": ANSWER,
    }
    assert task.qrels["m.A"] == {"m.A": ANSWER, "m.A.mix": NEIGHBOUR, "m.A.wash": NEIGHBOUR}
    assert task.qrels["m.wash"] == {"m.wash": ANSWER}
    assert "n.D.mix_again" not in task.queries


def test_a_formula_is_no_question():
    text = "Initialize this very object.\n\nWith green, red, blue, violet and black paint."
    assert not collection_of(Docstring(f"m.C{i}.__init__", text, f"m.C{i}") for i in range(6)).queries


def test_a_python_without_source_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(SurefootError, match="source of Python's standard library"):
        collection()

"""Scores of single items in the logs of evaluation harnesses, as tables of item, trial, measure and value."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from surefoot.errors import InputError
from surefoot.io.containers import Table, parse_number, validate_text
from surefoot.io.contents import Content, Source, known_form, objects_with
from surefoot.io.files import parse_json, unzip

ZIP = b"PK\x03\x04"
LONGEST_LABEL = 60
"""Characters of a text that names an item."""
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades: correct, partial, incorrect, no answer."""
_RAGAS_TEXTS = frozenset(
    "user_input retrieved_contexts reference_contexts response multi_responses reference rubrics reference_topics "
    "reference_tool_calls question answer contexts ground_truth ground_truths".split()
)


class Score(NamedTuple):
    """A score of an item; repeats without a trial are numbered. The system is None where a file has only one."""

    item: Any
    measure: str
    value: Any
    trial: Any = None
    system: str | None = None


def _content(source: Source, scores: Iterable[Score], name: Any = None) -> Content:
    """The scores that are numbers, as a long table."""
    with known_form(source):
        found = [score._replace(value=number) for score in scores if (number := _number(score.value)) is not None]
    if not found:
        raise InputError(source.path, "a log of an evaluation without a score of any item")
    seen: Counter[Any] = Counter()
    rows = []
    for score in found:
        key = (score.system, score.item, score.measure)
        seen[key] += 1
        rows.append((score.system, score.item, score.trial or seen[key], score.measure, score.value))
    system, item, trial, measure, value = zip(*rows, strict=True)
    columns: dict[str, Any] = {"topic": item, "measure": measure, "value": value}
    if len(set(trial)) > 1:
        columns["trial"] = trial
    if any(system):
        columns["system"] = system
    return Content(Table(columns, [*columns.values()]), str(name).rpartition("/")[2] if name else None)


def _number(value: Any) -> float | None:
    """A score as a number; None if it is none."""
    if value is None or isinstance(value, list | Mapping):
        return None
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    try:
        return parse_number(value)
    except (TypeError, ValueError):
        return None


def _labels(texts: Mapping[Any, Any]) -> dict[Any, str]:
    """A short label for each item, by its text; two items never have the same."""
    labels: dict[Any, str] = {}
    seen: Counter[str] = Counter()
    for key, text in texts.items():
        label = " ".join(str(text).split())[:LONGEST_LABEL].strip() or "item"
        seen[label] += 1
        labels[key] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return labels


def is_inspect(source: Source) -> bool:
    """Whether this is a log of Inspect as JSON."""
    return source.mentions("eval", "samples", "scores") and source.has("samples") and source.has("eval")


def read_inspect(source: Source) -> Content:
    """A log of Inspect, ``.json`` or ``.eval``; epochs are trials."""
    with known_form(source):
        log = _unpacked(source) if source.data.startswith(ZIP) else source.json
        return _content(source, _inspect_scores(log["samples"]), log["eval"]["model"])


def _unpacked(source: Source) -> dict[str, Any]:
    parts = unzip(source.path, source.data, lambda name: name.endswith(".json") and not name.startswith("_journal"))
    if "header.json" not in parts:
        raise InputError(source.path, "a zip archive, but no finished log of Inspect; it has no header.json")
    if "summaries.json" in parts:
        samples = parse_json(parts["summaries.json"])
    else:
        samples = [parse_json(data) for name, data in parts.items() if name.startswith("samples/")]
    return {**parse_json(parts["header.json"]), "samples": samples}


def _inspect_scores(samples: Iterable[Any]) -> Iterator[Score]:
    for sample in samples:
        for scorer, score in (sample.get("scores") or {}).items():
            value = score["value"]
            for part, own in value.items() if isinstance(value, Mapping) else ((None, value),):
                yield Score(sample["id"], scorer if part is None else f"{scorer}/{part}", own, sample["epoch"])


def read_lm_eval(source: Source) -> Content:
    """Samples of lm-evaluation-harness; with several filters a measure is named as there, ``acc,none``."""
    with known_form(source):
        filters = {row.get("filter") for row in source.json}
        return _content(
            source,
            [
                Score(row["doc_id"], name if len(filters) == 1 else f"{name},{row['filter']}", row.get(name))
                for row in source.json
                for name in row["metrics"]
            ],
        )


def read_promptfoo(source: Source) -> Content:
    """Results of promptfoo: a system is a provider and, if there are several, a prompt."""
    with known_form(source):
        results = sorted(objects_with(source.json, "promptIdx"), key=itemgetter("promptIdx"))
        tests = {_case(one): one["testCase"].get("description") or _values(one.get("vars")) for one in results}
        labels, prompts = _labels(tests), {one["promptIdx"] for one in results}
        several = len(prompts) > len({_provider(one) for one in results})
        scores = []
        for one in results:
            system = f"{_provider(one)} prompt {one['promptIdx'] + 1}" if several else _provider(one)
            values = {"score": one["score"], "success": one["success"], **one.get("namedScores", {})}
            scores += [Score(labels[_case(one)], name, value, system=system) for name, value in values.items()]
        return _content(source, scores)


def _case(result: Mapping[str, Any]) -> str:
    return repr((result["testCase"], result.get("vars")))


def _values(variables: Any) -> str:
    return ", ".join(map(str, variables.values())) if variables else ""


def _provider(result: Mapping[str, Any]) -> str:
    provider = result["provider"]
    return str(provider.get("label") or provider["id"]) if isinstance(provider, Mapping) else str(provider)


def read_deepeval(source: Source) -> Content:
    """A test run of deepeval."""
    with known_form(source):
        cases = next(objects_with(source.json, "testCases"))["testCases"]
        keys = [(case.get("input") or case["name"], str(case.get("expectedOutput"))) for case in cases]
        labels = _labels({key: key[0] for key in keys})
        return _content(
            source,
            [
                Score(labels[key], one["name"], one.get("score"))
                for key, case in zip(keys, cases, strict=True)
                for one in case.get("metricsData") or ()
            ],
        )


def read_helm(source: Source) -> Content:
    """HELM's ``per_instance_stats``; measures of perturbed instances have the perturbation in their names."""
    with known_form(source):
        return _content(
            source,
            [
                Score(one["instance_id"], _helm_measure(stat["name"]), stat["sum"] / stat["count"], trial)
                for one in source.json
                for trial in [one["train_trial_index"] + 1]
                for stat in one["stats"]
                if stat["count"]
            ],
        )


def _helm_measure(name: Mapping[str, Any]) -> str:
    perturbation = name.get("perturbation")
    return f"{name['name']}/{perturbation['name']}" if perturbation else str(name["name"])


def read_openai_evals(source: Source) -> Content:
    """Events of OpenAI evals: matches, and the numbers of metrics."""
    with known_form(source):
        spec: dict[str, Any] = next((row["spec"] for row in source.json if "spec" in row), {})
        events = [row for row in source.json if row.get("type") in ("match", "metrics")]
        return _content(
            source,
            [
                Score(row["sample_id"], name, value)
                for row in events
                for name, value in row["data"].items()
                if row["type"] == "metrics" or name == "correct"
            ],
            ",".join(map(str, spec.get("completion_fns", ()))) or None,
        )


def read_every_eval_ever(source: Source) -> Content:
    """Instances in the schema of Every Eval Ever."""
    with known_form(source):
        rows = source.json
        several = len({row["evaluation_name"] for row in rows}) > 1
        return _content(
            source,
            [
                Score(
                    f"{row['evaluation_name']}/{row['sample_id']}" if several else row["sample_id"],
                    name,
                    row["evaluation"].get(name),
                    system=row["model_id"],
                )
                for row in rows
                for name in ("score", "is_correct")
            ],
        )


def read_ragas(source: Source) -> Content:
    """The CSV of ragas's results; cells may have several lines, and columns of numbers are measures."""
    text = validate_text(source.path, source.data).decode()
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise InputError(source.path, f"can't be read as cells of a table: {error}") from None
    if any(None in row or None in row.values() for row in rows):
        raise InputError(source.path, "some rows have more or fewer cells than the header")
    questions = [row.get("user_input") or row.get("question") or "" for row in rows]
    keys = [(question, row.get("reference", "")) for question, row in zip(questions, rows, strict=True)]
    labels = _labels({key: key[0] for key in keys})
    names = [name for name in (rows[0] if rows else ()) if name and name not in _RAGAS_TEXTS and "Unnamed" not in name]
    measures = [name for name in names if all(_number(row[name]) is not None for row in rows)]
    return _content(
        source, [Score(labels[key], name, row[name]) for key, row in zip(keys, rows, strict=True) for name in measures]
    )

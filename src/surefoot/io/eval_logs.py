"""Tables of scores: of single items in the logs of evaluation harnesses, of tasks in the results of MTEB."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surefoot._typing import PathLike
from surefoot.errors import InputError, listed
from surefoot.io.containers import Table, objects_with, parse_number, validate_text
from surefoot.io.files import parse_json, unzip

if TYPE_CHECKING:
    from surefoot.io.formats import Source

ZIP = b"PK\x03\x04"
LONGEST_LABEL = 60
"""The most characters of a label."""
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades: correct, partial, incorrect, no answer."""
MAIN_SCORE = "main_score"
USUAL_SPLIT = "test"
_RAGAS_TEXTS = frozenset(
    "user_input retrieved_contexts reference_contexts response multi_responses reference rubrics reference_topics "
    "reference_tool_calls question answer contexts ground_truth ground_truths".split()
)


_LM_EVAL_FIELDS = frozenset(
    "doc_id doc target arguments resps filtered_resps filter doc_hash prompt_hash target_hash".split()
)


class Score(NamedTuple):
    """A score of an item. Repeats without a trial are numbered; the system is None in files of one system."""

    item: Any
    measure: str
    value: Any
    trial: Any = None
    system: str | None = None


def table_of(path: PathLike, scores: Iterable[Score]) -> tuple[Table, str | None]:
    """A long table of the scores that are numbers, and the name of the system if there is only one."""
    found = [score._replace(value=number) for score in scores if (number := _number(score.value)) is not None]
    if not found:
        raise InputError(path, "a log of an evaluation without a score of any item")
    seen: Counter[Any] = Counter()
    trials = []
    for score in found:
        key = (score.system, score.item, score.measure)
        seen[key] += 1
        trials.append(score.trial or seen[key])
    item, measure, value, _, system = zip(*found, strict=True)
    columns: dict[str, Any] = {"topic": item, "measure": measure, "value": value}
    if len(set(trials)) > 1:
        columns["trial"] = trials
    if len(set(system)) > 1:
        columns["system"] = system
    return Table(columns, [*columns.values()]), str(system[0]).rpartition("/")[2] if system[0] else None


def _number(value: Any) -> float | None:
    """A score as a number; None if it is not a number."""
    if value is None or isinstance(value, list | Mapping):
        return None
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    try:
        return parse_number(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _labels(texts: Mapping[Any, Any]) -> dict[Any, str]:
    """A short, unique label for each item, made of its text."""
    labels: dict[Any, str] = {}
    seen: Counter[str] = Counter()
    for key, text in texts.items():
        label = " ".join(str(text).split())[:LONGEST_LABEL].strip() or "item"
        seen[label] += 1
        labels[key] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return labels


def read_inspect(source: Source) -> Iterator[Score]:
    """A log of Inspect, ``.json`` or ``.eval``; epochs are trials."""
    log = _unpacked(source) if source.data.startswith(ZIP) else source.json
    for sample in log["samples"]:
        for scorer, score in (sample.get("scores") or {}).items():
            value = score["value"]
            for part, own in value.items() if isinstance(value, Mapping) else ((None, value),):
                measure = scorer if part is None else f"{scorer}/{part}"
                yield Score(sample["id"], measure, own, sample["epoch"], log["eval"]["model"])


def _unpacked(source: Source) -> dict[str, Any]:
    parts = unzip(source.path, source.data, {"header.json", "summaries.json"}.__contains__)
    if "header.json" not in parts:
        raise InputError(source.path, "a zip archive, but no finished log of Inspect; it has no header.json")
    if "summaries.json" in parts:
        samples = parse_json(parts["summaries.json"])
    else:
        each = unzip(source.path, source.data, lambda name: name.startswith("samples/"))
        samples = [parse_json(data) for data in each.values()]
    return {**parse_json(parts["header.json"]), "samples": samples}


def read_lm_eval(source: Source) -> Iterator[Score]:
    """Samples of lm-evaluation-harness; if there are several filters, a measure is named ``acc,none``, as there."""
    several = len({row.get("filter") for row in source.records}) > 1
    for row in source.records:
        metrics = row.get("metrics", [name for name in row if name not in _LM_EVAL_FIELDS])  # unlisted in older logs
        for name in metrics:
            yield Score(row["doc_id"], f"{name},{row['filter']}" if several else name, row.get(name))


def read_promptfoo(source: Source) -> Iterator[Score]:
    """Results of promptfoo: a system is a provider and, if there are several, a prompt."""
    results = sorted(objects_with(source.json, "promptIdx"), key=itemgetter("promptIdx"))
    labels = _labels({_case(one): one["testCase"].get("description") or _values(one.get("vars")) for one in results})
    several = len({one["promptIdx"] for one in results}) > len({_provider(one) for one in results})
    for one in results:
        system = f"{_provider(one)} prompt {one['promptIdx'] + 1}" if several else _provider(one)
        for name, value in {"score": one["score"], "success": one["success"], **one.get("namedScores", {})}.items():
            yield Score(labels[_case(one)], name, value, system=system)


def _case(result: Mapping[str, Any]) -> str:
    return repr((result["testCase"], result.get("vars")))


def _values(variables: Any) -> str:
    return ", ".join(map(str, variables.values())) if variables else ""


def _provider(result: Mapping[str, Any]) -> str:
    provider = result["provider"]
    return str(provider.get("label") or provider["id"]) if isinstance(provider, Mapping) else str(provider)


def read_deepeval(source: Source) -> Iterator[Score]:
    """A test run of deepeval."""
    cases = next(objects_with(source.json, "testCases"))["testCases"]
    keys = [(case.get("input") or case["name"], str(case.get("expectedOutput"))) for case in cases]
    labels = _labels({key: key[0] for key in keys})
    for key, case in zip(keys, cases, strict=True):
        yield from (Score(labels[key], one["name"], one.get("score")) for one in case.get("metricsData") or ())


def read_helm(source: Source) -> Iterator[Score]:
    """HELM's ``per_instance_stats``; the names of measures include the perturbation of an instance."""
    for one in source.records:
        for stat in one["stats"]:
            mean = stat["sum"] / stat["count"] if stat["count"] else None
            name, perturbation = stat["name"]["name"], stat["name"].get("perturbation")
            measure = f"{name}/{perturbation['name']}" if perturbation else str(name)
            yield Score(one["instance_id"], measure, mean, one["train_trial_index"] + 1)


def read_openai_evals(source: Source) -> Iterator[Score]:
    """Events of OpenAI evals: matches, and values of metrics."""
    spec: dict[str, Any] = next((row["spec"] for row in source.records if "spec" in row), {})
    system = ",".join(map(str, spec.get("completion_fns", ()))) or None
    for row in source.records:
        for name, value in row["data"].items() if row.get("type") in ("match", "metrics") else ():
            if row["type"] == "metrics" or name == "correct":
                yield Score(row["sample_id"], name, value, system=system)


def read_every_eval_ever(source: Source) -> Iterator[Score]:
    """Instances in the schema of Every Eval Ever."""
    several = len({row["evaluation_name"] for row in source.records}) > 1
    for row in source.records:
        item = f"{row['evaluation_name']}/{row['sample_id']}" if several else row["sample_id"]
        for name in ("score", "is_correct"):
            yield Score(item, name, row["evaluation"].get(name), system=row["model_id"])


def read_ragas(source: Source) -> Iterator[Score]:
    """The CSV of ragas's results; cells may have several lines, and columns of numbers are measures."""
    text = validate_text(source.path, source.data).decode()
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise InputError(source.path, f"can't be read as cells of a table: {error}") from None
    if any(None in row or None in row.values() for row in rows):
        raise InputError(source.path, "some rows have more or fewer cells than the header")
    keys = [(row.get("user_input") or row.get("question") or "", row.get("reference", "")) for row in rows]
    labels = _labels({key: key[0] for key in keys})
    names = [name for name in (rows[0] if rows else ()) if name and name not in _RAGAS_TEXTS and "Unnamed" not in name]
    measures = [name for name in names if all(_number(row[name]) is not None for row in rows)]
    for key, row in zip(keys, rows, strict=True):
        yield from (Score(labels[key], name, row[name]) for name in measures)


def is_task_result(content: Any) -> bool:
    """Whether parsed JSON is a task result of MTEB."""
    return isinstance(content, dict) and {"task_name", "scores"} <= content.keys()


def read_mteb(folder: PathLike) -> Table:
    """The results below a folder as a table of scores, with tasks as topics."""
    rows = [(model, task, MAIN_SCORE, score) for (model, task), score in read_results(folder).items()]
    return Table(("system", "topic", "measure", "value"), [*zip(*rows, strict=True)])


def read_results(folder: PathLike, split: str | None = None) -> dict[tuple[str, str], float]:
    """The main scores below a folder, by model and task; the model is the folder above that of the revision.

    Parameters
    ----------
    folder
        The folder of one model or of several. Other files than task results, such as ``model_meta.json``, are skipped.
    split
        The split to read; by default ``test``, or the only one.

    Returns
    -------
    dict
        A score for each ``(model, task)``, the mean over the subsets of the split, as MTEB takes it.
    """
    found: dict[tuple[str, str], float] = {}
    for path in sorted(Path(folder).rglob("*.json")):
        content = parsed(path, path.read_bytes())
        if not is_task_result(content):
            continue
        key = (path.parent.parent.name, str(content["task_name"]))
        if key in found:
            raise InputError(path, f"a second result of {key[1]} by {key[0]}; two revisions need folders of two names")
        try:
            found[key] = split_score(content["scores"], split)
        except ValueError as error:
            raise InputError(path, str(error)) from None
    if not found:
        raise InputError(folder, "holds no results of MTEB (model/revision/Task.json)")
    return found


def split_score(scores: object, split: str | None = None) -> float:
    """The mean main score over the subsets of one split of ``{split: [{"main_score": ...}]}``.

    >>> split_score({"dev": [{"main_score": 0.1}], "test": [{"main_score": 0.2}, {"main_score": 0.4}]})
    0.30000000000000004
    """
    splits = scores if isinstance(scores, Mapping) else {}
    chosen = split or (USUAL_SPLIT if USUAL_SPLIT in splits or len(splits) != 1 else next(iter(splits)))
    if chosen not in splits:
        raise ValueError(f"has no split {chosen}; there are {listed(splits) or 'none'}")
    subsets = splits[chosen] if isinstance(splits[chosen], list) else []
    values: list[Any] = [subset.get(MAIN_SCORE) if isinstance(subset, Mapping) else None for subset in subsets]
    if not values or not all(type(value) in (int, float) for value in values):
        raise ValueError(f"the split {chosen} should be a list of subsets, each with a number as {MAIN_SCORE}")
    return float(sum(values) / len(values))


def parsed(path: PathLike, data: bytes) -> Any:
    """The content of a JSON file of MTEB."""
    try:
        return parse_json(data)
    except ValueError:
        raise InputError(path, "not JSON, or cut off; get it again, or take it out of the folder") from None

"""JSON files whose values were changed and whose digests were recomputed, so that only the values can refuse them."""

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import surefoot
from surefoot.errors import SurefootError
from surefoot.io.atomic import digest_of
from tests.fuzz import formats
from tests.fuzz.commands import PAIR, RUNS, run
from tests.fuzz.subject import Subject
from tests.io.test_eval_logs import LOGS, MEASURES

HOSTILE = [
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, math.nan, math.inf, -math.inf, 1e308, 1e300, 5e-324, 10**30, -(10**30),
    10**400, 1 << 31, 1 << 63, "", "x", " ", "q1", "nan", "\0", "\ud800", "a\nb", "\x1b[2J", "x" * 5000, "9" * 5000,
    "MEAN", [], {}, [1], [[]], ["x"], [None], {"a": 1}, {"": None}, {"\n": 1},
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to each value inside of another."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


def edited(good: Any, seed: int) -> Any:
    """A copy with a few values changed, removed or repeated."""
    rng, found = random.Random(seed), copy.deepcopy(good)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        if not (known := list(places(found))):
            break
        *outer, key = rng.choice(known)
        parent = found
        for each in outer:
            parent = parent[each]
        kind = rng.randrange(8)
        if kind < 5:
            parent[key] = copy.deepcopy(rng.choice(HOSTILE))
        elif kind == 5:
            del parent[key]
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        else:
            parent[rng.choice(("", "x", "q1", "\n", *parent))] = copy.deepcopy(parent[key])
    return found


def of_json(good: Callable[[], Any], read: Callable[[Path], Any], file: str, seal: Callable[[Any], str]) -> Subject:
    """Edited copies of a value; ``seal`` writes one with its digest."""
    once = cache(good)

    def load(given: str, folder: Path) -> Any:
        path = folder / file
        path.write_text(given, "utf-8", errors="surrogatepass")
        return read(path)

    return Subject(lambda seed: seal(edited(once(), seed)), load)


def sealed_guard(found: dict[str, Any]) -> str:
    content = {name: value for name, value in found.items() if name != "digest"}
    return json.dumps({**content, "digest": digest_of(json.dumps(content, sort_keys=True), 8)})


def sealed_state(found: dict[str, Any]) -> str:
    items = found.get("items")
    if isinstance(items, list) and all(isinstance(row, list) and row and isinstance(row[0], str) for row in items):
        rows = list({row[0]: row for row in items}.values())
        content = [found.get("question"), rows, found.get("earlier")]
        found = {**found, "digest": digest_of(json.dumps(content, sort_keys=True), 8)}
    return json.dumps(found)


def sealed_checkpoint(found: Any) -> str:
    text = json.dumps(found)
    return f"{digest_of(text)}\n{text}\n"


def sealed_ratchet(found: dict[str, Any]) -> str:
    """With the means that belong to the scores."""
    try:
        for measure, own in found["scores"].items():
            found["figures"][measure] |= {"mean": math.fsum(own.values()) / len(own), "topics": len(own)}
    except (TypeError, KeyError, AttributeError, ValueError, OverflowError, ZeroDivisionError):
        pass
    return json.dumps(found)


def second_stage() -> Any:
    from surefoot.guard.guard import SECOND_STAGE, Guard
    from surefoot.guard.second_stage import Tree

    tree = Tree((0, 3), (0.5, 1.0), (1, -1), (-3, -2), (0.25, -0.5, 1.0))
    return {**Guard(SECOND_STAGE, 0.5, trees=(tree, tree)).to_json(), "digest": ""}


def guarded(path: Path) -> Any:
    """A run blended by the guard."""
    words = ["guard", "apply", str(path), "--baseline", "old.run", "--candidate", "new.run", "-o", "out.run", "--force"]
    return run(words, path.parent)


def gated(*words: str) -> Callable[[Path], Any]:
    return lambda path: run(["gate", *RUNS.split(), *words, str(path)], path.parent)


def written_by(*words: str, folder: Path, file: str) -> Any:
    run(["gate", *RUNS.split(), *words], folder)
    return json.loads((folder / "inside" / file).read_text())


def pinned() -> Any:
    """A ratchet file with pinned options, an anchor, documents and one more try."""
    import tempfile
    from contextlib import suppress

    with tempfile.TemporaryDirectory() as name:
        words = ["--ratchet", "kept.json", "--candidate"]
        written_by(*words, "old", "--accept", "--pin", folder=Path(name), file="kept.json")
        with suppress(SurefootError):
            return written_by(*words, "new", folder=Path(name), file="kept.json")


def state() -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        return written_by(*PAIR.split(), "--sequential", "state.json", folder=Path(name), file="state.json")


def resumed(path: Path) -> Any:
    """A training that goes on from the checkpoint."""
    from surefoot.learn import train
    from tests.learn.small_rankings import BASELINE, TRAINING, settings

    for other in path.parent.glob("model.*"):
        other.unlink()
    chosen = settings(n_estimators=4, num_leaves=4)
    return train(TRAINING, BASELINE, chosen, output=path.parent, checkpoint_every=0, resume=True).model.text


def checkpoint() -> Any:
    return json.loads(formats.model_files()["checkpoint.json"].partition(b"\n")[2])


def records(text: str) -> Any:
    """The content of a log: JSON, or a list of its lines."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def is_json(text: str) -> bool:
    return text.startswith(("{", "["))


def in_lines(found: Any) -> str:
    return "\n".join(map(json.dumps, found)) if isinstance(found, list) else json.dumps(found)


def of_log(name: str) -> Subject:
    def read(path: Path) -> Any:
        return surefoot.read_scores(path, MEASURES.get(name, "m")).to_dict()

    return of_json(lambda: records(LOGS[name]), read, "log", in_lines)


EDITED = {
    "guard, edited": of_json(second_stage, guarded, "guard.json", sealed_guard),
    "ratchet, edited": of_json(pinned, gated("--candidate", "new", "--ratchet"), "kept.json", sealed_ratchet),
    "sequential state, edited": of_json(state, gated(*PAIR.split(), "--sequential"), "state.json", sealed_state),
    "checkpoint, edited": of_json(checkpoint, resumed, "checkpoint.json", sealed_checkpoint),
    **{f"log of {name}, edited": of_log(name) for name in LOGS if is_json(LOGS[name])},
    "responses of `_msearch`, edited": of_json(
        lambda: json.loads(formats.SEARCHES), formats.read_run, "a.json", json.dumps
    ),
    "experiment of OpenSearch, edited": of_json(
        lambda: json.loads(formats.EXPERIMENT), formats.read_run, "a.json", json.dumps
    ),
}

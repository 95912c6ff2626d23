"""Commands with hostile options: one line that says why, or the result, and nothing else."""

import argparse
import io
import os
import random
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.subject import Subject

TABLE = "--scores scores.csv"
RUNS = "old.run new.run --qrels qrels.txt"
PAIR = "--baseline old --candidate new"
TRAIN = "--train train.txt --baseline feature:1 --trees 2 --leaves 3 --docs-per-leaf 1 --threads 1 --force"
COMMANDS = [
    f"evaluate {TABLE} --baseline old",
    f"evaluate {RUNS} --baseline old",
    f"scores {RUNS}",
    f"explore {TABLE} --system new --baseline old",
    f"explain {TABLE} --system new --baseline old --queries queries.tsv",
    f"cross {TABLE}",
    f"agreement measures {TABLE}",
    f"agreement pca {TABLE}",
    f"figure profile {TABLE} -o a.svg --force",
    f"gate {TABLE} {PAIR}",
    f"gate {RUNS} {PAIR}",
    f"judge {RUNS} {PAIR} -o judge.csv --force",
    "guard fit --baseline old.run --candidate new.run --qrels qrels.txt --anyway",
    f"train {TRAIN} -o model",
    f"train {TRAIN} --engine xgboost -o model",
    "predict model train.txt -o out.run --force",
    "export model -o model.json --force",
    f"power {TABLE} --system new --baseline old --n-simulations 20",
    "reproduce sigir2016-table5",
    "data list",
    "completion bash",
]
VALUES = [
    "", " ", "0", "-1", "1", "2", "3.5", "-0", "1e999", "nan", "inf", "-inf", "1e-320", "9" * 30, "-" + "9" * 30,
    "0x10", "1_0", "²", "٣", "x", "old", "new", "MEAN", "MEDIAN", "old,new", ",", ",,", "1,2", "1,x", "all", "none",
    "PAIR", "feature:1", "feature:0", "feature:-1", "-feature:1", "feature:" + "9" * 20, "run:old.run", "model:model",
    "nDCG@10", "nDCG@0", "nDCG@" + "9" * 20, "AP(rel=999999999)", "AP(rel=-1)", "P@1.5", "nDCG@", "ERR@20", "RBP(p=2)",
    "Judged@10", "nDCG@10(", "__import__('os')", "linear", "smooth", "table", "csv", "json", "latex", "bca", "ucro",
    "scores.csv", "old.run", "qrels.txt", "train.txt", ".", "/", "/dev/null", "missing.txt", "a/b/c", "x" * 300,
    "x" * 5000, "\x1b[2J", "a\nb", "../x", "~", "--", "-", "-o", "--seed", "%s%n", "{0}", "lambdamart",
]  # fmt: skip


@cache
def files() -> dict[str, str]:
    """Small inputs of all commands."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 12, 5))
    rows = [f"{int(x[0] > 0)} qid:{q} 1:{x[0]:.3f} 2:{x[1]:.3f}\n" for q in range(6) for x in rng.normal(size=(5, 2))]
    made = {
        "scores.csv": "topic,old,new\n"
        + "".join(f"q{q},{x[0]:.3f},{x[1]:.3f}\n" for q, x in enumerate(rng.random((12, 2)))),
        "queries.tsv": "".join(f"q{q}\tquery number {q}\n" for q in range(12)),
        "qrels.txt": "".join(f"q{q} 0 d{d} {int(scores[2, q, d] > 0)}\n" for q in range(12) for d in range(5)),
        "train.txt": "".join(rows),
    }
    for system, own in zip(("old", "new"), scores[:2] + scores[2], strict=True):
        made[f"{system}.run"] = "".join(
            f"q{q} Q0 d{d} 0 {own[q, d]:.4f} {system}\n" for q in range(12) for d in range(5)
        )
    return made


@cache
def options(line: str) -> list[argparse.Action]:
    """The options of a command."""
    from surefoot.cli import build_parser

    words = line.split()
    parser: argparse.ArgumentParser = build_parser(words[:1])
    while subparsers := [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]:
        parser = subparsers[0].choices[words.pop(0)]
    return [action for action in parser._actions if action.option_strings and action.dest != "help"]


def argv(seed: int) -> list[str]:
    """A command with more options, and some words replaced: known values, hostile ones or random bytes."""
    rng = random.Random(seed)
    line = rng.choice(COMMANDS)
    words = line.split()
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        if rng.random() < 0.2:
            words[rng.randrange(len(words))] = value(rng)
            continue
        if not (known := options(line)):
            continue
        action = rng.choice(known)
        flag = rng.choice(action.option_strings)
        if action.nargs == 0:
            words.append(flag)
        else:
            own = str(rng.choice(list(action.choices))) if action.choices and rng.random() < 0.6 else value(rng)
            words += [f"{flag}={own}"] if rng.random() < 0.3 else [flag, own]
    return words


def value(rng: random.Random) -> str:
    if rng.random() < 0.15:
        return os.fsdecode(bytes(rng.randrange(1, 256) for _ in range(rng.choice((1, 3, 10)))))
    return rng.choice(VALUES)


class UnexpectedError(Exception):
    """What a command must not do."""


def run(given: list[str], folder: Path) -> Any:
    """Run a command as the shell does; an error of one line is raised as an error of the user."""
    from surefoot.cli import main
    from surefoot.errors import SurefootError

    folder = folder / "inside"  # hostile paths lead to the folder above
    folder.mkdir(exist_ok=True)
    for name, content in files().items():
        (folder / name).write_text(content)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with chdir(folder), redirect_stdout(out), redirect_stderr(said):
        try:
            code = main(given)
        except SystemExit as stop:
            code = stop.code  # type: ignore[assignment]
    said.seek(0)
    lines = said.read().splitlines()
    errors = [line for line in lines if line.startswith("surefoot")]
    if code not in (0, 1, 2, 3) or len(errors) != (code == 2) or any("Traceback" in line for line in lines):
        raise UnexpectedError(f"exit {code}: {lines}")
    if code == 2:
        raise SurefootError(errors[0])
    return code


OPTIONS = {"options of commands": Subject(argv, run)}

"""Large inputs in every command: a run of ten million lines, a thousand runs, a million topics.

Each command runs in a process of its own, with a limit on its processor time (``SUREFOOT_BENCH_LIMIT`` seconds, 600 by
default). The table has its processor seconds, its peak memory, its exit code and whether it reported progress, which it
does every twenty seconds. ``SUREFOOT_BENCH_SCALE=0.1`` makes inputs of a tenth of the size.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

LIMIT = int(os.environ.get("SUREFOOT_BENCH_LIMIT", 600))
SCALE = float(os.environ.get("SUREFOOT_BENCH_SCALE", 1))
LINES, RUNS, TOPICS, DEEP = (round(SCALE * size) for size in (10_000_000, 1000, 1_000_000, 10_000))
SCORES = "--scores million.csv --measure P@10"
PAIR = "--baseline old --candidate new"
LONG = "long-old.run long-new.run --qrels long.txt"
MANY = "many --qrels many.txt"
COMMANDS = {
    f"runs of {LINES:,} lines": {
        "evaluate, one run": "evaluate long-old.run --qrels long.txt",
        "compare, two runs": f"compare {LONG}",
        "gate, two runs": f"gate {LONG} {PAIR.replace('old', 'long-old').replace('new', 'long-new')}",
    },
    f"{RUNS:,} runs of 5,000 lines": {
        "evaluate": f"evaluate {MANY} --baseline r0 -o out.csv",
        "scores": f"scores {MANY} -o scores.csv",
        "cross": f"cross {MANY} -o cross.csv",
        "agreement": f"agreement measures {MANY} --baseline r0",
    },
    f"{TOPICS:,} topics": {
        "evaluate": f"evaluate {SCORES} --baseline old",
        "evaluate --bayes": f"evaluate {SCORES} --baseline old --bayes",
        "evaluate --tests": f"evaluate {SCORES} --baseline old --tests t,flip --n-resamples 99",
        "explore": f"explore {SCORES} {PAIR} -o topics.csv",
        "gate": f"gate {SCORES} {PAIR}",
        "gate --evidence strict": f"gate {SCORES} {PAIR} --evidence strict",
        "gate --sequential": f"gate {SCORES} {PAIR} --sequential state.json",
        "gate --ratchet": f"gate {SCORES} --candidate new --ratchet accepted.json --accept",
        "cross": f"cross {SCORES}",
        "power": f"power {SCORES} {PAIR}",
        "report": f"report {SCORES} {PAIR} -o report.html",
        "figure": f"figure plane {SCORES} --baseline old --n-resamples 50 -o plane.png",
        "scores": f"scores {SCORES} -o copy.csv",
        "doctor": "doctor million.csv",
    },
}


def write(folder: Path) -> None:
    """The inputs, written a line at a time: a child's peak of memory begins with that of this process."""
    rng = random.Random(0)
    per_topic = LINES // DEEP
    for system in ("old", "new"):
        with (folder / f"long-{system}.run").open("w") as file:
            for topic in range(DEEP):
                noise = [rng.random() for _ in range(per_topic)]
                file.writelines(f"q{topic} Q0 d{d} 0 {9 - noise[d]:.5f} {system}\n" for d in range(per_topic))
    with (folder / "long.txt").open("w") as file:
        file.writelines(f"q{topic} 0 d{d} 1\n" for topic in range(DEEP) for d in range(0, per_topic, 97))
    (folder / "many").mkdir()
    for run in range(RUNS):
        with (folder / "many" / f"r{run}.run").open("w") as file:
            file.writelines(f"{t} Q0 d{rng.randrange(10**6)}x{d} 0 {100 - d} r\n" for t in range(50) for d in range(99))
            file.writelines(f"{t} Q0 good{t} 0 {rng.randrange(200)} r\n" for t in range(50))
    (folder / "many.txt").write_text("".join(f"{t} 0 good{t} 1\n" for t in range(50)))
    with (folder / "million.csv").open("w") as file:
        file.write("topic,old,new\n")
        file.writelines(f"q{t},{rng.randrange(11) / 10},{rng.randrange(11) / 10}\n" for t in range(TOPICS))


def run(words: str, folder: Path) -> tuple[float, float, int, str]:
    """Processor seconds, peak memory in MB, exit code, and the progress reported."""
    named = [str(path) for path in sorted((folder / "many").iterdir())]
    expanded = [part for word in words.split() for part in (named if word == "many" else [word])]
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "surefoot", *expanded], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)),
    )  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.read().strip().splitlines()
    _, status, used = os.wait4(process.pid, 0)
    long = time.monotonic() - begin > 45
    shown = "yes" if any("left" in line or " of " in line for line in said) else "no" if long else ""
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 3):
        print(f"{words}: exit {code}: {said[-1:]}", file=sys.stderr)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000, code, shown


def rows(folder: Path) -> Iterator[str]:
    for title, commands in COMMANDS.items():
        yield f"\n| {title} | processor s | peak MB | exit code | progress |\n| --- | ---: | ---: | ---: | --- |"
        for name, words in commands.items():
            seconds, peak, code, shown = run(words, folder)
            yield f"| {name} | {seconds:.1f} | {peak:,.0f} | {code} | {shown} |"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        for row in rows(folder):
            print(row, flush=True)


if __name__ == "__main__":
    main()

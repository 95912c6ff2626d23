"""Write the outputs of many commands to a folder, so that ``diff -r`` compares two versions.

``python tools/outputs.py FOLDER``, with ``SUREFOOT_DATA``, and ``PYTHONPATH`` naming the sources to run. Each command
writes ``NAME.txt``, its output, errors and exit code, and the files that it names; they all run in the folder. The
version's number is replaced, so that it is no difference.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = "import sys; from surefoot.cli import main; sys.argv[0] = 'surefoot'; sys.exit(main())"

WEB = "--scores data/trec-web-2012/err20.csv --baseline indriCASP"
INDRI = "data/trec-web-2012/*.run.gz --qrels data/trec-web-2012/qrels.adhoc.txt"
DL = "data/trec-dl-2019/runs/* --qrels data/trec-dl-2019/qrels.txt"
OLD, NEW = "maik-froebe-colbert", "colbert_monoelectra-large"
OLD_RUN, NEW_RUN = f"data/trec-dl-2019/runs/{OLD}.run.gz", f"data/trec-dl-2019/runs/{NEW}.run.gz"
PAIR = f"{OLD_RUN} {NEW_RUN} --qrels data/trec-dl-2019/qrels.txt"
BOTH = f"--baseline {OLD_RUN} --candidate {NEW_RUN}"
MQ = "--train data/mq2008/S1.txt.gz data/mq2008/S2.txt.gz --baseline feature:25 --num-leaves 15 --n-jobs 1"
MSLR = "--train data/mslr-sample/fold1.train.5k.txt.gz --baseline feature:110 --num-leaves 15 --n-jobs 1"
LINEAR = "--train data/mq2008/S1.txt.gz --baseline feature:25"
FEW, VALID = "--n-estimators 15", "--valid data/mq2008/S4.txt.gz --n-estimators 30 --early-stopping-rounds 5"
BM25 = "--baseline demo/runs/BM25.run --candidate demo/runs/fusion.run"
DEMO = "demo/runs/*.run --qrels demo/qrels.txt"
MEASURES = "ERR@20 nDCG nDCG@10 nDCG(dcg='exp-log2')@20 AP AP(rel=2)@100 RR RR@10 P@5 R@100 RBP RBP(p=0.5,rel=1) Rprec"
OBJECTIVES = "ucro smooth saro faro tstar-faro trisk georisk georisk-full tail minimax-regret upside churn".split()
MANY = " ".join(f'--measure "{name}"' for name in MEASURES.split())

COMMANDS = f"""
demo: demo -o demo

web-table: evaluate {WEB} --alpha 0,1,5,10
web-csv: evaluate {WEB} --alpha 0,1,5,10 --tail 0.05,0.1 --geometric --minus --correct holm -o web.csv
web-json: evaluate {WEB} --alpha 0,5 --format json
web-md: evaluate {WEB} --format md --letters
web-latex: evaluate {WEB} --format latex --columns system,mean,urisk,trisk,zrisk,georisk
web-mean: evaluate --scores data/trec-web-2012/ndcg20.csv --baseline MEAN --format csv
web-none: evaluate --scores data/trec-web-2012/ndcg20.csv --format csv
web-smooth: evaluate {WEB} --value smooth --alpha 0.5,1 --format csv
web-monotone: evaluate {WEB} --value monotone --alpha 1,5 --format csv
web-ci: evaluate {WEB} --ci --n-resamples 1000 --tail 0.1 --format csv
web-bca: evaluate {WEB} --ci bca --n-resamples 500 --format csv
web-percentile: evaluate {WEB} --ci percentile --n-resamples 500 --format csv
web-jackknife: evaluate {WEB} --ci jackknife --format csv
web-tests: evaluate {WEB} --tests bootstrap,t,wilcoxon,flip,max,swap --n-resamples 500 --format csv
web-explore: explore {WEB} --system uogTrA44xi --alpha 5 --format csv
web-explore-smooth: explore {WEB} --system uogTrA44xi --value smooth --alpha 1 --top 10
web-cross: cross --scores data/trec-web-2012/err20.csv --alpha 10 --format csv
web-cross-baselines: cross --scores data/trec-web-2012/err20.csv --alpha 10 --by-baseline --n-resamples 200 --format csv
web-measures: agreement measures {WEB} --alpha 5 --format csv
web-values: agreement values {WEB} --format csv
web-correlation: agreement correlation {WEB} --alpha 10 --format csv
web-pca: agreement pca --scores data/trec-web-2012/err20.csv --include --format csv
web-normality: agreement normality {WEB} --system uogTrA44xi --format csv
web-g2: agreement g2 --scores data/trec-web-2012/err20.csv --format csv
web-power: power {WEB} --system uogTrA44xi --alpha 1,5 --topics 25,50,100 --n-simulations 300 --format csv
web-report: report {WEB} --candidate uogTrA44xi -o web.html
web-figure: figure plane {WEB} -o plane.svg
indri-many: evaluate {INDRI} {MANY} --baseline indriCASP --alpha 0,5 --format csv
indri-skip: evaluate {INDRI} --measure ERR@20 --unjudged skip --baseline indriCASP --format csv
indri-scores: scores {INDRI} {MANY} -o indri.csv

dl-many: evaluate {DL} {MANY} --baseline MEDIAN --alpha 0,1 --format csv
dl-scores: scores {DL} --measure nDCG@10 -o dl.csv
dl-bounds: evaluate {PAIR} --baseline {OLD} --unjudged bounds --format csv
dl-documents: explore {PAIR} --system {NEW} --baseline {OLD} --documents --format csv
dl-credible: explore {PAIR} --system {NEW} --baseline {OLD} --credible --format csv
dl-explain: explain {PAIR} --candidate {NEW} --baseline {OLD} --n-resamples 500 --format json
dl-judge: judge {PAIR} --candidate {NEW} --baseline {OLD} --budget 20 -o judge.csv
dl-judge-err: judge {PAIR} --candidate {NEW} --baseline {OLD} --measure ERR@10 --budget 10 -o judge-err.csv
dl-report: report {PAIR} --baseline {OLD} --candidate {NEW} -o dl.html
dl-guard: guard fit {BOTH} --qrels data/trec-dl-2019/qrels.txt --kinds log-rank,z -o guard.json
dl-guard-apply: guard apply guard.json {BOTH} -o guarded.run
codec: evaluate data/codec/*.run.gz --qrels data/codec/qrels.txt --duplicates best --baseline bm25-tuned --format csv
covid: scores data/trec-covid-r1/runs/* --qrels data/trec-covid-r1/qrels.txt {MANY} -o covid.csv

demo-evaluate: evaluate {DEMO} {MANY} --baseline BM25 --alpha 0,1,5 --format csv
demo-ci: evaluate {DEMO} --baseline BM25 --ci --n-resamples 300 --format csv
demo-explain: explain {DEMO} --candidate chargrams --baseline BM25 --queries demo/queries.tsv --n-resamples 300
demo-documents: explore {DEMO} --system chargrams --baseline BM25 --documents --queries demo/queries.tsv
demo-guard: guard fit {BM25} --qrels demo/qrels.txt -o demo-guard.json
demo-guard-apply: guard apply demo-guard.json {BM25} -o demo-guarded.run

mq-lambdamart: train {MQ} --objective lambdamart {FEW} -o mq-lambdamart
mq-valid: train {MQ} --objective ucro --alpha 2 {VALID} -o mq-valid
mq-all-pairs: train {MQ} --objective ucro --truncation all --no-norm {FEW} -o mq-all-pairs
mq-several: train {MQ} --baseline feature:40 --objective georisk {FEW} -o mq-several
mq-xgboost: train {MQ} --objective ucro --engine xgboost {FEW} -o mq-xgboost
mq-map: train {MQ} --objective smooth --metric map {FEW} -o mq-map
mq-mrr: train {MQ} --objective saro --metric mrr {FEW} -o mq-mrr
mq-err: train {MQ} --objective ucro --metric err --truncation 10 {FEW} -o mq-err
mq-safe: train {MQ} --safe --n-bags 2 --guard z {FEW} -o mq-safe
mq-adarank: train {LINEAR} --learner adarank --objective lambdamart -o mq-adarank
mq-afs: train {LINEAR} --learner afs --n-estimators 5 -o mq-afs
mq-coordinate: train {LINEAR} --learner coordinate-ascent --n-estimators 3 -o mq-coordinate
mq-predict: predict mq-all-pairs data/mq2008/S5.txt.gz -o mq.run --write-qrels mq.qrels
mq-predict-safe: predict mq-safe data/mq2008/S5.txt.gz -o mq-safe.run
mq-baseline: predict feature:25 data/mq2008/S5.txt.gz -o bm25.run
mq-evaluate: evaluate mq.run mq-safe.run bm25.run --qrels mq.qrels --baseline bm25 --format csv
mq-tradeoff: tradeoff {MQ} {VALID} --test data/mq2008/S5.txt.gz --alpha 0,2 --format csv -o mq-tradeoff
mslr-lambdamart: train {MSLR} --objective lambdamart {FEW} -o mslr-lambdamart
mslr-xgboost: train {MSLR} --objective georisk --engine xgboost {FEW} -o mslr-xgboost
mslr-all-pairs: train {MSLR} --objective georisk --truncation all {FEW} -o mslr-all-pairs
{chr(10).join(f"mslr-{name}: train {MSLR} --objective {name} {FEW} -o mslr-{name}" for name in OBJECTIVES)}
mslr-predict: predict mslr-georisk data/mslr-sample/fold1.test.5k.txt.gz -o mslr.run --write-qrels mslr.qrels

reproduce: reproduce --format csv
"""


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    data = folder / "data"
    data.symlink_to(Path(os.environ["SUREFOOT_DATA"]).resolve())
    version = run("import surefoot; print(surefoot.__version__)", [], folder).stdout.strip().encode()
    for line in filter(None, COMMANDS.splitlines()):
        name, _, command = line.partition(": ")
        begin = time.perf_counter()
        found = run(PROGRAM, expanded(shlex.split(command), folder), folder)
        (folder / f"{name}.txt").write_text(f"{found.stdout}--- errors\n{found.stderr}--- exit {found.returncode}\n")
        print(f"{time.perf_counter() - begin:6.1f} s  exit {found.returncode}  {name}", flush=True)
    data.unlink()
    for file in filter(Path.is_file, folder.rglob("*")):
        content = file.read_bytes()
        if version in content and file.suffix != ".gz":
            file.write_bytes(content.replace(version, b"VERSION"))


def run(code: str, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=environment, capture_output=True, text=True
    )


def expanded(words: list[str], folder: Path) -> list[str]:
    """The words of a command, patterns replaced by the files that they match."""
    return [found for word in words for found in (matches(word, folder) if "*" in word else [word])]


def matches(pattern: str, folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.glob(pattern))


if __name__ == "__main__":
    main()

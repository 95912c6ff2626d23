"""Train a ranker that avoids risk on a Spark cluster, and evaluate it there.

    spark-submit --master yarn --num-executors 16 examples/spark_train.py \
        hdfs:///log/train hdfs:///log/test model/ --baseline feature:bm25 --workers 16

Tables are Parquet with one row per document: a column qid, a column label, and features. All executors need Surefoot:
pip install 'surefoot[cluster]', or an archive of an environment by spark-submit's --archives.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pyspark.sql import SparkSession

from surefoot import evaluate
from surefoot.cluster import spark
from surefoot.learn import Settings


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", help="Parquet to learn from")
    parser.add_argument("test", help="Parquet to evaluate on")
    parser.add_argument("output", help="folder for the model and its card, where the driver runs")
    parser.add_argument("--baseline", required=True, help="feature:NAME, scores:NAME or values:NAME")
    parser.add_argument("--objective", default="ucro")
    parser.add_argument("--alpha", type=float, default=2.0)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(words)

    session = SparkSession.builder.getOrCreate()
    settings = Settings(given.objective, given.alpha, n_estimators=given.trees, engine="xgboost")
    trained = spark.train(session.read.parquet(given.train), given.baseline, settings, workers=given.workers)
    trained.model.save(given.output)

    found = spark.scores(trained.model, session.read.parquet(given.test), given.baseline, workers=given.workers)
    print(evaluate(found, baseline=found.systems[1], alpha=[given.alpha]))


if __name__ == "__main__":
    main()

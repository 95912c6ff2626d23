"""A `pyspark.ml` estimator of rankers, for pipelines with a column of feature vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyspark.ml
from pyspark.ml.functions import vector_to_array
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasPredictionCol
from pyspark.sql.functions import col

from surefoot.cluster.shards import Columns
from surefoot.cluster.spark import SparkCluster, predict
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings

ARRAY = "__features"
"""A column that is added to tables: the vector as an array."""


class _Columns(HasFeaturesCol, HasLabelCol, HasPredictionCol):
    qidCol: Any = Param(Params._dummy(), "qidCol", "column of query ids", TypeConverters.toString)  # noqa: N815


class RiskRankerEstimator(pyspark.ml.Estimator, _Columns):  # type: ignore[type-arg]
    """Fits a ranker to a column of feature vectors.

    Parameters
    ----------
    settings : Settings, optional
        The settings of the training; the engine is XGBoost.
    workers : int
        The number of tasks, which run at the same time.
    baseline : str or list of str, optional
        ``feature:N``, the place of a feature in the vector counted from 0, ``scores:NAME`` or ``values:NAME``.
    featuresCol, labelCol, qidCol, predictionCol : str
        The columns of feature vectors, labels, query ids and predicted scores.
    **options
        Other parameters of `surefoot.cluster.training.Cluster.train`, such as ``checkpoint``.

    Examples
    --------
    >>> ranker = RiskRankerEstimator(Settings(alpha=2, engine="xgboost"), workers=16, baseline="feature:0")
    ... # doctest: +SKIP
    >>> ranked = Pipeline(stages=[assembler, ranker]).fit(train).transform(test)  # doctest: +SKIP
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        workers: int,
        baseline: Any = None,
        featuresCol: str = "features",
        labelCol: str = "label",
        qidCol: str = "qid",
        predictionCol: str = "prediction",
        **options: Any,
    ) -> None:
        super().__init__()
        self.settings, self.workers, self.baseline, self.options = settings, workers, baseline, options
        self._set(featuresCol=featuresCol, labelCol=labelCol, qidCol=qidCol, predictionCol=predictionCol)

    def _fit(self, dataset: Any) -> RiskRankerModel:
        query, label, vector = (self.getOrDefault(one) for one in (self.qidCol, self.labelCol, self.featuresCol))
        width = len(dataset.select(vector).first()[0])
        names = [str(place) for place in range(width)]
        columns = Columns.among([*dataset.columns, *names], query, label, names, self.baseline)
        table = dataset.withColumn(ARRAY, vector_to_array(col(vector), "float32"))
        columns = replace(columns, vector=ARRAY)
        trained = SparkCluster(self.workers).train_columns([table], columns, self.settings, **self.options)
        return self._copyValues(RiskRankerModel(trained.model))


class RiskRankerModel(pyspark.ml.Model, _Columns):
    """A fitted ranker; ``model`` is the model as `surefoot.learn` knows it."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def _transform(self, dataset: Any) -> Any:
        vector, name = self.getOrDefault(self.featuresCol), self.getOrDefault(self.predictionCol)
        table = dataset.withColumn(ARRAY, vector_to_array(col(vector), "float32"))
        return predict(self.model, table, name, self.getOrDefault(self.qidCol), vector=ARRAY).drop(ARRAY)

"""Training, ranking and evaluating on Dask and Spark: modules `dask` and `spark` with the same functions each."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

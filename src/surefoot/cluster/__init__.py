"""Training, ranking and evaluating on clusters: modules `dask`, `spark` and `ray` with the same functions each."""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

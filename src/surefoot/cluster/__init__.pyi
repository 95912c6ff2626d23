"""The public names of `surefoot.cluster`; see `surefoot._lazy`."""

from surefoot.cluster.streaming_dask import fold_on_dask as fold_on_dask
from surefoot.cluster.streaming_spark import fold_on_spark as fold_on_spark

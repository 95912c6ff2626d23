"""The public names of `surefoot.cluster`; see `surefoot._lazy`."""

from surefoot.cluster.streaming import fold_on_dask as fold_on_dask
from surefoot.cluster.streaming import fold_on_ray as fold_on_ray
from surefoot.cluster.streaming import fold_on_spark as fold_on_spark

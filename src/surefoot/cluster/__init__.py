"""The same statistics and objectives on Dask and Spark."""

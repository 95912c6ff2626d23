"""Learned baselines that only the experiments use."""

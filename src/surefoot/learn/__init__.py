"""Rankers that learn: risk-sensitive ones, and the baselines that they are compared with."""

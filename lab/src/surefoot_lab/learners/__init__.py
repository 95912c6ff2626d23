"""Learners other than risk-sensitive boosting: linear rankers and plain boosted trees, the papers' baselines."""

"""The embedded demo: a search task made of the standard library's docstrings, rankers for it, and their comparison."""

GAIN_ONLY, RISK_AVERSE = "LambdaMART", "LambdaMART-safe"
"""The names of the learned rankers."""

"""The names of the demo's learned rankers, in a module that loads no training code."""

GAIN_ONLY, RISK_AVERSE = "LambdaMART", "LambdaMART-safe"

"""What the learned rankers of the demo are called, apart from the heavy code that trains them."""

GAIN_ONLY, RISK_AVERSE = "LambdaMART", "LambdaMART-safe"

"""Risk against reward: a model for each alpha, the plane that they span, and which to choose."""

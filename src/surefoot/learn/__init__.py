"""Rankers that learn: risk-sensitive ones, and the baselines that they are compared with."""

import os

# Threads of LightGBM and XGBoost that spin while they wait make a busy machine many times slower; these sleep.
# It has to be said before the first of those libraries is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

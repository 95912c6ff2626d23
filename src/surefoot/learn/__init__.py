"""Rankers that learn: risk-sensitive objectives, training, models. Names are loaded when they are first used."""

import os

from surefoot._lazy import attach

# Threads of LightGBM and XGBoost that spin while they wait make a busy machine many times slower; these sleep.
# It must be set before the first of those libraries is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__getattr__, __dir__ = attach(__name__, moved=True)

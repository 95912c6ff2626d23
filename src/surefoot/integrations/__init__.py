"""Adapters for PyTerrier, sentence-transformers, MTEB, pytest, MLflow, and Weights & Biases.

Each module needs its package and is imported by its full name. ranx, ir_measures, ir_datasets and pytrec_eval need no
adapter: `surefoot.score_runs` takes their objects.
"""

"""LightGBM and XGBoost behind one protocol."""

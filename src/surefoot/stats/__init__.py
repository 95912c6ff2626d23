"""Inference: what is noise, how sure a number is, and how far rankings agree."""

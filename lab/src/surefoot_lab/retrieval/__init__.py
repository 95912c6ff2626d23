"""Retrieval: an index of a collection, retrieval models, and features for learning to rank."""

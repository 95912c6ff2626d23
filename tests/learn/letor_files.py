"""LETOR text for tests, and when two readings of it are equal."""

import random

import numpy as np


def dense(data):
    return data.features if isinstance(data.features, np.ndarray) else data.features.toarray()


def assert_same(one, other):
    np.testing.assert_array_equal(dense(one), dense(other))
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.bounds, other.bounds)
    assert (one.queries, one.first_feature) == (other.queries, other.first_feature)
    assert (one.documents is None) == (other.documents is None)
    assert one.documents is None or one.documents.to_list() == other.documents.to_list()


def scattered_text(rows=1000, features=60, seed=5):
    """Lines in no order, with more values for Python to read than are settled at a time."""
    chance = random.Random(seed)
    lines = []
    for row in range(rows):
        chosen = chance.sample(range(1, features), 8)
        pairs = " ".join(
            f"{feature}:{chance.choice(['0', '1.5', '12345678.5', '1e-30', 'NULL'])}" for feature in chosen
        )
        lines.append(f"{chance.randrange(4)} qid:{chance.randrange(30)} {pairs} #d{row}\n")
    return "".join(lines)

"""Scores that reports are made of."""

import numpy as np

from surefoot import Scores

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(3)>',
    "__proto__",
    "constructor",
    '=HYPERLINK("http://example.com")',
    "$data ${alert(4)} {{5}}",
    'a,b"c\nd',
    "\u2028\u202eright to left",
    "javascript:alert(6)",
    "x" * 300,
    "half a letter \ud800",
)


def random_scores(systems: int = 12, topics: int = 30, seed: int = 3) -> Scores:
    """Scores with ties, zeros and systems alike, as real ones have."""
    random = np.random.default_rng(seed)
    values = np.round(np.clip(random.beta(0.6, 1.2, topics) + random.normal(0, 0.15, (systems, topics)), 0, 1), 2)
    return Scores(values, [f"s{i}" for i in range(systems)], [f"q{j}" for j in range(topics)], measure="nDCG@10")

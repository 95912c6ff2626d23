"""Several LightGBM models as one: all their trees in one plain file."""

from __future__ import annotations

from collections.abc import Sequence


def averaged(texts: Sequence[str]) -> str:
    """The mean of models over the same features: all their trees, each leaf divided by the number of models."""
    import lightgbm as lgb

    head, *_ = texts[0].partition("Tree=0\n")
    head = "\n".join(line for line in head.splitlines() if not line.startswith("tree_sizes="))
    blocks = [block for text in texts for block in _trees(text)]
    scaled = [f"Tree={place}\n{_divided(block, len(texts))}" for place, block in enumerate(blocks)]
    tail = "end of trees\n\nfeature_importances:\n" + texts[0].partition("feature_importances:\n")[2]
    # LightGBM writes it anew, with the sizes and importances of all trees.
    return str(lgb.Booster(model_str=f"{head}\n\n{''.join(scaled)}{tail}").model_to_string())


def _trees(text: str) -> list[str]:
    """The trees of a model's text, without their numbers."""
    body = text[text.index("Tree=0\n") : text.index("end of trees")]
    return [part.partition("\n")[2] for part in body.split("Tree=")[1:]]


def _divided(block: str, by: int) -> str:
    lines = block.splitlines()
    for place, line in enumerate(lines):
        key, _, values = line.partition("=")
        if key in ("leaf_value", "internal_value", "shrinkage"):
            lines[place] = f"{key}={' '.join(repr(float(value) / by) for value in values.split(' ') if value)}"
    return "\n".join(lines) + "\n"

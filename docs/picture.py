"""Draws the README's picture from what `make demo` wrote: `.venv/bin/python docs/picture.py` (needs matplotlib)."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import surefoot as sf

GAIN, LOSS = "#0072B2", "#D55E00"
BASELINE, MEASURE = "BM25", "nDCG@10"
ROOT = Path(__file__).parent.parent


def main() -> None:
    runs = sorted((ROOT / "demo" / "runs").glob("*.run"))
    scores = sf.score_runs(runs, ROOT / "demo" / "qrels.txt", MEASURE)
    rows = {
        row["system"]: row for row in sf.evaluate(scores, BASELINE, correct="holm").rows() if row["system"] != BASELINE
    }
    better = [row for row in rows.values() if row["mean"] > scores[BASELINE].mean()]
    chosen = [max(better, key=lambda row: row["trisk"]), min(better, key=lambda row: row["trisk"])]
    mpl.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "axes.spines.top": False})
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.0), sharey=True, layout="constrained")
    for panel, row in zip(panels, chosen, strict=True):
        draw(panel, np.sort(scores[row["system"]] - scores[BASELINE]), row)
    panels[0].set_ylabel(f"change in {MEASURE}")
    figure.savefig(ROOT / "docs" / "picture.png", dpi=160)


def draw(panel: plt.Axes, change: np.ndarray, row: dict[str, float]) -> None:
    """The queries from the worst hit to the most helped."""
    place = np.arange(len(change))
    panel.fill_between(place, change, 0, where=change <= 0, color=LOSS, linewidth=0, step="mid")
    panel.fill_between(place, change, 0, where=change >= 0, color=GAIN, linewidth=0, step="mid")
    panel.axhline(0, color="black", linewidth=0.6)
    panel.set(xlim=(0, len(change)), ylim=(-1.05, 1.05), xlabel=f"{len(change):,} queries, worst first")
    panel.spines["right"].set_visible(False)
    gap = change.mean()
    unpaid = row["p_holm"] < 0.05 and row["trisk"] < 0
    verdict = (
        "its losses are not paid for, and that is no noise" if unpaid else "no sign that its losses are not paid for"
    )
    sure = f"p {'< 0.001' if row['p_holm'] < 0.001 else '= ' + format(row['p_holm'], '.2f')}"
    panel.set_title(
        f"{row['system']} instead of {BASELINE}: {gap:+.3f} on average,\n{verdict}", fontsize=9.5, loc="left"
    )
    panel.text(0.02, 0.06, f"{row['losses']:,} queries worse", color=LOSS, transform=panel.transAxes, ha="left")
    panel.text(0.98, 0.90, f"{row['wins']:,} queries better", color=GAIN, transform=panel.transAxes, ha="right")
    panel.text(0.98, 0.06, f"T_Risk {row['trisk']:.1f}, {sure}", color="#444444", transform=panel.transAxes, ha="right")


if __name__ == "__main__":
    main()

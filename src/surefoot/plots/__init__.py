"""The plots of the papers, made from your own data. Each function takes scores or a result and returns Axes.

    from surefoot.plots import alpha_curves, save_plot

    save_plot(alpha_curves(scores, "bm25", of="trisk"), "alpha.svg")

Without ``axes`` a new figure is made, one or two columns wide. matplotlib is loaded when a plot is first used.
"""

from surefoot._lazy import attach

__getattr__, __dir__ = attach(__name__)

"""The plots of the papers, made from one's own data. Each function takes scores or a result and returns Axes.

    from surefoot import alpha_curves, save_plot

    save_plot(alpha_curves(scores, "bm25", of="trisk"), "alpha.svg")

Without ``axes`` a new figure is made, one or two columns wide. matplotlib is loaded when a plot is first used.
"""

KINDS = {
    "shape": ("score_shapes", "each system's score over the topics, beside the mean (SIGIR 2016, figure 1)"),
    "profile": ("profile", "how many topics reach each score"),
    "alpha": ("alpha_curves", "a measure against alpha, with critical values (SIGIR 2014, fig. 1; 2016, figs. 2, 3)"),
    "topics": ("topic_bars", "T_J of each topic, of one system or several, with the threshold (SIGIR 2014, figure 2)"),
    "pca": ("pca_map", "a map of the systems, with virtual baselines (ECIR 2014, figures 1, 2)"),
    "correlation": ("correlation_map", "who looks safe because it resembles the baseline (ECIR 2014)"),
    "paired": ("paired_scores", "a system's scores over the baseline's, topic by topic (ECIR 2014, figure 3a)"),
    "sorted": ("sorted_values", "what each topic adds to U_Risk, the worst first (ECIR 2014, figures 3b, 3c, 4)"),
    "differences": ("difference_boxes", "score differences with their fences (ECIR 2020, figure 1)"),
    "values": ("value_functions", "what a difference is worth: linear, smooth, monotone (ECIR 2020, figure 2)"),
    "qq": ("qq_lines", "is the mean close to normal? Q-Q of bootstrap means (ECIR 2020, figure 3)"),
    "rbo": ("rbo_bars", "do linear and smooth values rank alike? RBO with residuals (ECIR 2020, figure 4)"),
    "helped": ("helped_hurt", "how many topics were helped and hurt, and how much (SIGIR 2012, figure 1)"),
    "cross": ("cross_map", "U_Risk of every system against every other, as a heat map"),
    "plane": ("risk_reward", "risk and reward of every system, with intervals"),
    "forest": ("forest", "a measure of every system with its interval"),
}
"""The kinds of `surefoot figure`: the function of each, and what it shows."""

TRADEOFF_KINDS = {
    "tradeoff": ("tradeoff_curves", "gain over risk as alpha grows, with what coins and thresholds reach (SIGIR 2012)"),
    "convergence": ("convergence_curves", "effectiveness by iteration, a line for each alpha (SIGIR 2012)"),
    "churn": ("churn_map", "how far rankings move from the baseline's, by alpha (SIGIR 2012)"),
    "changes": ("change_map", "how many queries are helped and hurt, and how much, by alpha (SIGIR 2012)"),
    "reward-by-churn": ("reward_bars", "what queries gain and lose, by how far their ranking moves (SIGIR 2012)"),
    "best-alpha": ("best_alpha_bars", "on how many queries each alpha does best (SIGIR 2012)"),
    "front": ("search_front", "the trials of a search for alpha, and what it recommends"),
}
"""The same for kinds that draw a folder that `surefoot tradeoff -o` wrote."""

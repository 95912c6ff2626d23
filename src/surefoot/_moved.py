"""Names of version 0.2 that moved. They forward for one release and are absent from ``dir()``."""

NAMES = {
    "surefoot.analysis": """
        baseline_bias baseline_choice compare_pairs difference_intervals document_moves evaluate_parquet
        evaluate_segments independence normality partial_correlation rank_agreement side_by_side value_agreement
        with_letters
    """,
    "surefoot.effectiveness": """
        score_runs_by
    """,
    "surefoot.guard": """
        Budget Certificate GuardFit fit_guard_to_runs
    """,
    "surefoot.io": """
        read_documents read_map read_names read_queries read_scores_by read_segments
    """,
    "surefoot.judgments": """
        Disagreement JudgedRuns delta_bounds
    """,
    "surefoot.learn": """
        RankingData same_features write_letor
    """,
    "surefoot.plots": """
        alpha_curves correlation_map cross_map difference_boxes forest guard_path helped_hurt paired_scores
        paper_style pca_map profile qq_lines rbo_bars risk_reward save_plot score_shapes sorted_values topic_bars
        value_functions
    """,
    "surefoot.release_gate": """
        Accepted accept gate_accepted read_accepted render_gate render_junit render_markdown write_accepted
    """,
    "surefoot.risk": """
        Comparison Linear Monotone Smooth
    """,
    "surefoot.show": """
        Rankings judging_page render
    """,
    "surefoot.stats": """
        Simulator baseline_correlations bootstrap_test correct fitted_pair flip_test friedman group_test jackknife
        kendall lower_mean_bound pca planted_pair ranking rbo swap_test t_inference t_test topic_inference
        upper_mean_bound wilcoxon_test
    """,
    "surefoot_lab": """
        DataSplit ExperimentResult PROTOCOLS Plan SearchOptions best_alpha_bars change_map choose_alpha churn_map
        collections convergence_curves experiment fetch load_data locate read_choice read_plan read_sweep reproduce
        reward_bars search_front sweep_alphas tradeoff_curves tradeoff_table write_choice write_experiment
        write_sweep
    """,
}
"""The names by the package that has them now."""

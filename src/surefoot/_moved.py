"""Names of version 0.2 that moved. They forward for one release and are absent from ``dir()``."""

NAMES = {
    "surefoot_lab": """
        DataSplit ExperimentResult PROTOCOLS Plan SearchOptions best_alpha_bars change_map choose_alpha churn_map
        collections convergence_curves experiment fetch load_data locate read_choice read_plan read_sweep reproduce
        reward_bars search_front sweep_alphas tradeoff_curves tradeoff_table write_choice write_experiment
        write_sweep
    """,
}
"""The names by the package that has them now."""

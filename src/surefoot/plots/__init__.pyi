"""The public names of `surefoot.plots`; see `surefoot._lazy`."""

from surefoot.plots.agreement import cross_map as cross_map
from surefoot.plots.agreement import pca_map as pca_map
from surefoot.plots.planes import forest as forest
from surefoot.plots.planes import guard_path as guard_path
from surefoot.plots.planes import risk_reward as risk_reward
from surefoot.plots.style import paper_style as paper_style
from surefoot.plots.style import save_plot as save_plot
from surefoot.plots.systems import alpha_curves as alpha_curves
from surefoot.plots.systems import profile as profile
from surefoot.plots.systems import score_shapes as score_shapes
from surefoot.plots.topics import helped_hurt as helped_hurt
from surefoot.plots.topics import paired_scores as paired_scores
from surefoot.plots.topics import sorted_values as sorted_values
from surefoot.plots.topics import topic_bars as topic_bars
from surefoot.plots.values import difference_boxes as difference_boxes
from surefoot.plots.values import value_functions as value_functions

"""The public names of `surefoot.stats`; see `surefoot._lazy`."""

from surefoot.stats.agreement import baseline_correlations as baseline_correlations
from surefoot.stats.agreement import friedman as friedman
from surefoot.stats.agreement import kendall as kendall
from surefoot.stats.agreement import pca as pca
from surefoot.stats.agreement import ranking as ranking
from surefoot.stats.agreement import rbo as rbo
from surefoot.stats.bootstrap import bootstrap_test as bootstrap_test
from surefoot.stats.corrections import correct as correct
from surefoot.stats.groups import group_test as group_test
from surefoot.stats.inference import jackknife as jackknife
from surefoot.stats.inference import t_inference as t_inference
from surefoot.stats.inference import topic_inference as topic_inference
from surefoot.stats.mean_bounds import lower_mean_bound as lower_mean_bound
from surefoot.stats.mean_bounds import upper_mean_bound as upper_mean_bound
from surefoot.stats.permutation import flip_test as flip_test
from surefoot.stats.permutation import swap_test as swap_test
from surefoot.stats.permutation import t_test as t_test
from surefoot.stats.permutation import wilcoxon_test as wilcoxon_test
from surefoot.stats.power import fitted_pair as fitted_pair
from surefoot.stats.power import planted_pair as planted_pair
from surefoot.stats.simulator import Simulator as Simulator

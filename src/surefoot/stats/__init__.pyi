"""The public names of `surefoot.stats`; see `surefoot._lazy`."""

from surefoot.stats.bootstrap import bootstrap_test as bootstrap_test
from surefoot.stats.inference import correct as correct
from surefoot.stats.inference import jackknife as jackknife
from surefoot.stats.inference import t_inference as t_inference
from surefoot.stats.inference import topic_inference as topic_inference
from surefoot.stats.mean_bounds import lower_mean_bound as lower_mean_bound
from surefoot.stats.mean_bounds import upper_mean_bound as upper_mean_bound
from surefoot.stats.permutation import flip_test as flip_test
from surefoot.stats.permutation import group_test as group_test
from surefoot.stats.permutation import swap_test as swap_test
from surefoot.stats.permutation import t_test as t_test
from surefoot.stats.power import fitted_pair as fitted_pair
from surefoot.stats.power import planted_pair as planted_pair
from surefoot.stats.principal_axes import pca as pca
from surefoot.stats.ranks import friedman as friedman
from surefoot.stats.ranks import kendall as kendall
from surefoot.stats.ranks import wilcoxon_test as wilcoxon_test
from surefoot.stats.simulator import Simulator as Simulator

"""The public names of `surefoot.judgments`; see `surefoot._lazy`."""

from surefoot.judgments.assessors import Disagreement as Disagreement
from surefoot.judgments.bounds import delta_bounds as delta_bounds
from surefoot.judgments.judged_runs import JudgedRuns as JudgedRuns

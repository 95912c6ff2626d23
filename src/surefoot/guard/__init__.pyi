"""The public names of `surefoot.guard`; see `surefoot._lazy`."""

from surefoot.guard.certificate import Budget as Budget
from surefoot.guard.certificate import Certificate as Certificate
from surefoot.guard.fitting import GuardFit as GuardFit
from surefoot.guard.fitting import fit_guard as fit_guard
from surefoot.guard.guard import Guard as Guard
from surefoot.guard.runs import fit_guard_to_runs as fit_guard_to_runs

from surefoot.effectiveness.measures import Measure as Measure
from surefoot.effectiveness.measures import parse_measure as parse_measure
from surefoot.effectiveness.scoring import score_runs as score_runs
from surefoot.effectiveness.scoring import score_runs_by as score_runs_by

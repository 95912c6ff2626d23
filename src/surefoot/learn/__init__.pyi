"""The public names of `surefoot.learn`; see `surefoot._lazy`."""

from surefoot.lambdas.gradients import by_factor as by_factor
from surefoot.lambdas.gradients import by_line as by_line
from surefoot.lambdas.gradients import by_step as by_step
from surefoot.learn.baseline import baselines_of as baselines_of
from surefoot.learn.boosting import RiskObjective as RiskObjective
from surefoot.learn.data import RankingData as RankingData
from surefoot.learn.export import export_model as export_model
from surefoot.learn.joining import same_features as same_features
from surefoot.learn.letor import read_letor as read_letor
from surefoot.learn.letor import write_letor as write_letor
from surefoot.learn.models import Model as Model
from surefoot.learn.models import load_model as load_model
from surefoot.learn.objectives import OBJECTIVES as OBJECTIVES
from surefoot.learn.objectives import LambdaMART as LambdaMART
from surefoot.learn.objectives import register as register
from surefoot.learn.rankers import RiskRanker as RiskRanker
from surefoot.learn.run import Trained as Trained
from surefoot.learn.run import TrainingRun as TrainingRun
from surefoot.learn.scorers import risk_scorer as risk_scorer
from surefoot.learn.settings import SAFE as SAFE
from surefoot.learn.settings import PairOptions as PairOptions
from surefoot.learn.settings import Settings as Settings
from surefoot.learn.training import train as train

"""The public names of `surefoot.torch`; see `surefoot._lazy`."""

from surefoot.torch.cross_encoder import CrossEncoderRiskEvaluator as CrossEncoderRiskEvaluator
from surefoot.torch.cross_encoder import RiskLambdaLoss as RiskLambdaLoss
from surefoot.torch.cross_encoder import RiskWeights as RiskWeights
from surefoot.torch.dropout import DropoutRiskLoss as DropoutRiskLoss
from surefoot.torch.loss import RiskLoss as RiskLoss
from surefoot.torch.monitor import RiskMonitor as RiskMonitor

"""Risk-sensitive objectives for LambdaMART: weights of swaps of two documents.

Plain LambdaMART weighs a pair by |dM|, the change of the query's metric M if the two documents swapped ranks. An
objective turns dM into dM', depending on the query's metric and that of its baselines. The kernels then walk the pairs
(``native/swaps.h`` has the forms that they support). At alpha = 0 every objective is LambdaMART, except
`smooth`, which is not linear at any alpha, and `georisk` and `trisk`, which depend on Z and on the spread at any alpha.

In the formulas x is the model's metric on query q, b the baseline's, d = x - b, c the number of queries.
"""

from surefoot.learn.objectives.adaptive import FARO, SARO, SAROEq9, TStarFARO
from surefoot.learn.objectives.base import OBJECTIVES, UCRO, LambdaMART, QueryMetrics, objective_of, register
from surefoot.learn.objectives.differences import Churn, MinimaxRegret, SmoothUCRO, Tail, TRisk, UCROEq9, Upside
from surefoot.learn.objectives.georisk import GeoRisk, GeoRiskFull

for _kind in (
    LambdaMART, UCRO, UCROEq9, SmoothUCRO, SARO, SAROEq9, FARO, TStarFARO, TRisk, GeoRisk, GeoRiskFull, Tail,
    MinimaxRegret, Upside, Churn,
):  # fmt: skip
    register(_kind)

__all__ = [
    "FARO", "OBJECTIVES", "SARO", "UCRO", "Churn", "GeoRisk", "GeoRiskFull", "LambdaMART", "MinimaxRegret",
    "QueryMetrics", "SAROEq9", "SmoothUCRO", "TRisk", "TStarFARO", "Tail", "UCROEq9", "Upside", "objective_of",
    "register",
]  # fmt: skip

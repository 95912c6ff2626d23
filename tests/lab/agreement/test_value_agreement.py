from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.agreement.rankings import RBO, value_agreement

from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.risk.values import Monotone, Smooth, fences
from surefoot.scores import Scores

RANDOM = np.random.default_rng(2010)
MATRIX = RANDOM.random((6, 15))
FEW = Scores(MATRIX, "abcdef", range(15))


def test_value_agreement_grows_by_steps() -> None:
    found = value_agreement(FEW, "a", value=Smooth, step=2)
    assert list(dict.fromkeys(found.columns["systems"])) == [2, 4, 6]
    assert set(found.columns["measure"]) == {"urisk", "zrisk", "georisk", "geominus_published"}
    assert "ties=order" in found.signature
    with pytest.raises(SurefootError, match="2 or more"):
        value_agreement(FEW, "a", step=1)


def test_values_agree_with_themselves() -> None:
    found = value_agreement(FEW, "MEAN", value="linear")
    np.testing.assert_allclose(found.columns["extrapolated"], 1)


def test_value_agreement_without_zrisk_says_so() -> None:
    found = value_agreement(Scores(MATRIX - 0.5, "abcdef", range(15)), "a", value=Smooth)
    assert set(found.columns["measure"]) == {"urisk"}
    assert "some scores are below 0" in found.notes[-1]


@pytest.fixture(scope="module")
def err20(data: Path) -> Scores:
    return read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")


@pytest.mark.parametrize("value", ["smooth", Smooth])
def test_ecir2020_overlap_of_linear_and_smooth_rankings(err20: Scores, value: object) -> None:
    """Published minima: U 0.903 (48 runs, without the baseline), Z 0.316 and Geo- 0.937 (all 49); alpha-hat 2, p 0.9.

    Geo- recomputes to 0.9378, which is 0.937 when cut and 0.938 when rounded. The papers' fences and ours agree here.
    """
    found = value_agreement(err20, "indriCASP", alpha=1, value=value)  # type: ignore[arg-type]
    whole = {row["measure"]: RBO(row["minimum"], row["residual"], row["extrapolated"]) for row in found.rows()[-4:]}
    minima = {measure: f"{one.minimum:.4f}" for measure, one in whole.items()}
    assert minima == {"urisk": "0.9032", "zrisk": "0.3164", "georisk": "0.8757", "geominus_published": "0.9378"}
    assert max(one.residual for one in whole.values()) < 0.001


def test_ecir2020_figure4_has_steps_of_five(err20: Scores) -> None:
    found = value_agreement(err20, "indriCASP", alpha=1, value=Smooth)
    assert list(dict.fromkeys(found.columns["systems"])) == [5, 10, 15, 20, 25, 30, 35, 40, 45, 49]
    for measure in ("urisk", "zrisk", "georisk", "geominus_published"):
        rows = [row for row in found.rows() if row["measure"] == measure]
        assert (np.diff([row["minimum"] for row in rows]) > -1e-12).all()
        assert (np.diff([row["minimum"] + row["residual"] for row in rows]) < 1e-12).all()


def test_ecir2020_figure4_compares_the_heads_of_each_ranking(err20: Scores) -> None:
    found = value_agreement(err20, "indriCASP", alpha=1, value=Smooth)
    heads = [(f"{row['minimum']:.3f}", f"{row['residual']:.3f}") for row in found.rows() if row["measure"] == "zrisk"]
    assert heads[:3] == [("0.168", "0.458"), ("0.220", "0.237"), ("0.258", "0.118")]
    assert heads[-1] == ("0.316", "0.001")


def test_heads_may_hold_different_systems() -> None:
    """Rankings abcd… and …dcba share no system in their first three, so nothing is certain there."""
    found = value_agreement(FEW, "MEAN", value=lambda alpha: lambda d: -d, step=3)  # type: ignore[arg-type]
    first = next(row for row in found.rows() if row["measure"] == "urisk")
    assert first["systems"] == 3
    assert first["minimum"] < 0.2


@pytest.mark.parametrize(("alpha", "refused"), [(1.0, 22), (5.0, 49)])
def test_the_cubic_is_refused_for_many_baselines_and_the_monotone_form_for_none(
    err20: Scores, alpha: float, refused: int
) -> None:
    found = 0
    for row in range(len(err20.systems)):
        others = np.delete(err20.values, row, axis=0) - err20.values[row]
        assert np.isfinite(Monotone(alpha, *fences(others))(others)).all()
        try:
            Smooth(alpha, *fences(others))
        except SurefootError:
            found += 1
    assert found == refused

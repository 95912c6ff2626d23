"""Choosing alpha on validation queries."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.learn.bagging import train_bags
from surefoot.learn.choosing import GIVE_UP, safest, train_choosing
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.training import Settings
from surefoot.ranking_data import RankingData

SETTINGS = Settings("ucro", n_estimators=12, params={"num_leaves": 5, "min_child_samples": 5}, threads=1)
BASELINE, ALPHAS = "feature:1", (0.0, 2.0, 30.0)


def rankings(seed, queries=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * 10, 4))
    labels = np.searchsorted([0.5, 1.5], X[:, 0] + X[:, 1] + rng.normal(size=len(X)))
    return RankingData.of(X, labels, np.repeat(np.arange(queries), 10))


DATA, VALID = rankings(1), rankings(2)


@pytest.mark.parametrize("bags", [1, 2])
def test_the_safest_whose_mean_is_close_is_kept(bags):
    alone = [train_bags(replace(SETTINGS, alpha=a), bags, DATA, BASELINE, VALID).model for a in ALPHAS]
    found = train_choosing(SETTINGS, ALPHAS, bags, DATA, BASELINE, VALID).model
    figures = [model.card["validation"] for model in alone]
    enough = (1 - GIVE_UP) * max(own["mean"] for own in figures)
    expected = min((place for place in range(3) if figures[place]["mean"] >= enough),
                   key=lambda place: figures[place]["frisk"])  # fmt: skip
    assert found.text == alone[expected].text
    assert found.card["alpha"] == ALPHAS[expected]
    assert found.card["chosen from"] == [{"alpha": a, **own} for a, own in zip(ALPHAS, figures, strict=True)]


def test_a_costly_mean_is_not_chosen_however_safe():
    free, dear = {"mean": 1.0, "frisk": 0.5}, {"mean": 1.0 - 2 * GIVE_UP, "frisk": 0.0}
    assert safest([free, dear]) == 0
    assert safest([dear, free]) == 1
    assert safest([free, {**dear, "mean": 1.0 - GIVE_UP / 2}]) == 1
    assert safest([free, dict(free)]) == 0


def test_one_alpha_is_trained_as_ever():
    alone = train_bags(replace(SETTINGS, alpha=2.0), 2, DATA, BASELINE).model
    found = train_choosing(SETTINGS, [2.0], 2, DATA, BASELINE).model
    assert (found.text, found.card) == (alone.text, alone.card)


@pytest.mark.parametrize("bags", [1, 2])
@pytest.mark.parametrize("stopped", [20, 30])
def test_a_stopped_choice_goes_on_to_the_same_model(bags, stopped, tmp_path):
    whole = train_choosing(SETTINGS, ALPHAS, bags, DATA, BASELINE, VALID).model
    seen = []

    def stop(at):
        seen.append(at)
        if len(seen) == stopped:
            raise KeyboardInterrupt

    path = tmp_path / "checkpoint.json"
    with pytest.raises(KeyboardInterrupt):
        train_choosing(SETTINGS, ALPHAS, bags, DATA, BASELINE, VALID, checkpoint=path, report=stop)
    assert path.exists()
    again = []
    found = train_choosing(
        SETTINGS, ALPHAS, bags, DATA, BASELINE, VALID, checkpoint=path, resume=True, report=again.append
    ).model
    assert found.text == whole.text
    assert len(again) <= 12 * 3 * bags - 12  # the first part was not trained again
    assert (again[-1].iteration, again[-1].rounds) == (12 * 3 * bags, 12 * 3 * bags)


def test_the_estimator_chooses_too_and_judges_by_the_alpha_that_it_chose():
    qid = np.repeat(np.arange(40), 10)
    ranker = RiskRanker(alpha=ALPHAS, n_estimators=12, num_leaves=5, min_child_samples=5, n_jobs=1)
    ranker.fit(DATA.features, DATA.labels, qid, BASELINE, (VALID.features, VALID.labels, qid))
    found = train_choosing(ranker._settings(), ALPHAS, 1, DATA, BASELINE, VALID).model
    assert ranker.model_.text == found.text
    assert ranker.alpha_ == found.card["alpha"]
    assert ranker.judge(VALID.features, VALID.labels, qid, BASELINE) == found.card["validation"]


def test_what_a_choice_lacks_is_told():
    for valid, baseline, alphas in ((None, BASELINE, ALPHAS), (VALID, None, ALPHAS), (VALID, BASELINE, ())):
        with pytest.raises(SurefootError, match="choosing among alphas needs validation queries and a baseline"):
            train_choosing(SETTINGS, alphas, 1, DATA, baseline, valid)

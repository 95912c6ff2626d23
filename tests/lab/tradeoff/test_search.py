"""The search for alpha, its recommendation, and the words for it."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surefoot_lab.tradeoff import files
from surefoot_lab.tradeoff.models import DataSplit
from surefoot_lab.tradeoff.recommendation import (
    ModelMeasures,
    count_change,
    mean_change,
    pareto_front,
    recommend,
    summarise,
)
from surefoot_lab.tradeoff.search import Choice, SearchOptions, choose_alpha

from surefoot.errors import SurefootError
from surefoot.learn.run import TrainingRun
from surefoot.learn.settings import Settings

TRIALS = 12
OPTIONS = SearchOptions(TRIALS, [1.0, 5.0], give_up=0.3, n_resamples=100)
MEASURES = st.lists(st.tuples(*[st.integers(0, 6)] * 3), min_size=1, max_size=12)


def untested(sets: DataSplit) -> DataSplit:
    return replace(sets, test=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search")


@pytest.fixture(scope="module")
def choice(sets, few_trees: Settings, folder: Path) -> Choice:
    made = choose_alpha(few_trees, sets, OPTIONS, folder=folder)
    files.write_choice(made, folder)
    return made


def test_trials_lie_in_the_space(choice: Choice, few_trees: Settings) -> None:
    assert len(choice) == TRIALS
    assert set(choice["alpha"].tolist()) <= {0.0, 1.0, 5.0}
    assert (choice["alpha"][::3] == 0).all()
    assert (choice["leaves"][0], choice["rate"][0], choice["docs_per_leaf"][0]) == (4, 0.2, 5)
    assert choice["leaves"].min() >= 2
    assert choice["leaves"].max() <= 16
    assert choice["rate"].min() >= 0.05
    assert choice["rate"].max() <= 0.8
    assert len(set(zip(choice["leaves"].tolist(), choice["rate"].tolist(), strict=True))) == TRIALS


def test_the_front_and_the_recommendation(choice: Choice) -> None:
    front = pareto_front(choice["mean"], choice["frisk"])
    np.testing.assert_array_equal(choice["front"], front)
    assert (choice["mean_low"] <= choice["mean"]).all()
    assert (choice["frisk"] <= choice["frisk_high"]).all()
    best = choice["mean"][choice["alpha"] == 0].max()
    assert choice["mean"][choice.chosen] >= 0.7 * best
    allowed = choice["mean"] >= 0.7 * best
    assert choice["frisk"][choice.chosen] == choice["frisk"][allowed].min()
    assert [sentence.partition(":")[0] for sentence in choice.recommendation] == ["validation", "test"]
    assert f"alpha = {choice['alpha'][choice.chosen]:g} " in choice.recommendation[0]


def test_the_same_seed_gives_the_same_search_whether_stopped_or_not(
    choice: Choice, sets, few_trees: Settings, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "stopped"
    shutil.copytree(folder, place)
    for number in range(TRIALS - 3, TRIALS):
        shutil.rmtree(place / f"trial-{number:03d}")
    trained: list[float] = []

    def counting(run: TrainingRun, *others: object, **words: object) -> object:
        trained.append(run.settings.alpha)
        return train_one(run, *others, **words)

    train_one = TrainingRun.train
    monkeypatch.setattr(TrainingRun, "train", counting)
    again = choose_alpha(few_trees, sets, OPTIONS, folder=place)
    assert len(trained) == 3
    assert again.rows() == choice.rows()
    assert again.recommendation == choice.recommendation


def test_another_seed_asks_for_other_models(choice: Choice, sets, few_trees: Settings, folder: Path) -> None:
    other = choose_alpha(few_trees, untested(sets), SearchOptions(2, [1.0], n_resamples=100, seed=1))
    assert other["rate"][1] != choice["rate"][1]
    with pytest.raises(SurefootError, match="another"):
        choose_alpha(few_trees, untested(sets), SearchOptions(3, [1.0], n_resamples=100, seed=1), folder=folder)


def test_what_is_written_is_read(choice: Choice, folder: Path) -> None:
    again = files.read_choice(folder)
    assert again.rows() == choice.rows()
    assert (again.recommendation, again.notes, again.measure, again.chosen) == (
        choice.recommendation, choice.notes, choice.measure, choice.chosen,
    )  # fmt: skip
    shown = choice.readable()
    assert len(shown) == choice["front"].sum()
    assert shown.notes[0] == choice.recommendation[0]
    (folder / "search.json").write_text("{}")
    with pytest.raises(SurefootError, match="is not the file of a search"):
        files.read_choice(folder)


def test_xgboost_has_no_documents_per_leaf(sets) -> None:
    settings = Settings("ucro", n_estimators=2, engine="xgboost", num_leaves=4, n_jobs=1)
    found = choose_alpha(settings, untested(sets), SearchOptions(2, [1.0], n_resamples=100))
    assert "docs_per_leaf" not in found.columns
    assert len(found.recommendation) == 1


def test_mistakes(sets, few_trees: Settings) -> None:
    with pytest.raises(SurefootError, match="two trials"):
        choose_alpha(few_trees, sets, SearchOptions(1))
    with pytest.raises(SurefootError, match="lambdamart has no alpha"):
        choose_alpha(replace(few_trees, objective="lambdamart"), sets, SearchOptions(2))
    with pytest.raises(SurefootError, match="validation queries"):
        choose_alpha(few_trees, replace(sets, valid=None), SearchOptions(2))
    with pytest.raises(SurefootError, match="add alpha 0"):
        recommend([0.5], [0.1], [1.0])


@given(MEASURES)
def test_the_front_is_what_none_beats(figures: list[tuple[int, int, int]]) -> None:
    mean, risk, _ = np.array(figures).T
    for place, kept in enumerate(pareto_front(mean, risk)):
        beaten = any(
            m >= mean[place] and r <= risk[place] and (m, r) != (mean[place], risk[place])
            for m, r in zip(mean, risk, strict=True)
        )
        assert kept != beaten


@given(MEASURES)
def test_recommendations_lie_on_the_front(figures: list[tuple[int, int, int]]) -> None:
    mean, risk, alphas = np.array([*figures, (3, 3, 0)]).T
    best, chosen = recommend(mean, risk, alphas, give_up=0.3)
    assert alphas[best] == 0
    assert mean[best] == mean[alphas == 0].max()
    assert mean[chosen] >= 0.7 * mean[best]
    assert risk[chosen] <= risk[best]
    assert pareto_front(mean, risk)[chosen]


def test_nothing_better_than_gain_only() -> None:
    assert recommend([0.5, 0.3], [0.02, 0.01], [0, 5]) == (0, 0)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (34, 17, "halves hurt ones (from 34 to 17)"),
        (10, 8, "cuts hurt ones by 20 % (from 10 to 8)"),
        (1000, 985, "cuts hurt ones by 1.5 % (from 1000 to 985)"),
        (3, 1, "cuts hurt ones to a third (from 3 to 1)"),
        (3, 0, "does away with hurt ones (from 3 to 0)"),
        (0, 2, "raises hurt ones (from 0 to 2)"),
        (4, 8, "doubles hurt ones (from 4 to 8)"),
        (4, 7, "raises hurt ones by 75 % (from 4 to 7)"),
        (4, 4, "leaves hurt ones as they are (4)"),
        (0, 0, "leaves hurt ones as they are (0)"),
    ],
)
def test_counts_in_words(before: int, after: int, said: str) -> None:
    assert count_change(before, after, "hurt ones") == said


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (0.4, 0.3988, "loses 0.3 % m"),
        (0.4, 0.4001, "keeps m"),
        (0.2, 0.3, "gains 50 % m"),
        (0, 0.1, "gains m"),
        (0, 0, "keeps m"),
    ],
)
def test_means_in_words(before: float, after: float, said: str) -> None:
    assert mean_change(before, after, "m") == said


def test_a_verdict_says_but_where_more_queries_are_hurt() -> None:
    said = summarise(1, "map", ModelMeasures(0.5, 0.0, 2), ModelMeasures(0.5, 0.01, 4))
    assert said == "alpha = 1 keeps map but doubles the queries hurt by more than 20 % (from 2 to 4); " \
        "F_Risk rises from 0 to 0.0100"  # fmt: skip
    same = summarise(1, "map", ModelMeasures(0.5, 0.01, 2), ModelMeasures(0.5, 0.01, 2))
    assert same.endswith("F_Risk stays at 0.0100")

"""Plans: the published ones, one's own in TOML, and what is wrong with some."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from surefoot_lab.experiments.plan import KINDS, PROTOCOLS, Plan, read_plan

from surefoot.errors import SurefootError

EXAMPLE = Path(__file__).parents[3] / "examples" / "experiment.toml"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "my.toml"
    path.write_text(text)
    return path


def test_sigir_2016_is_as_published() -> None:
    plan = PROTOCOLS["sigir2016"]
    (trees,) = plan.grid(rows=1_200_192)
    assert (trees.min_child_samples, trees.num_leaves, trees.learning_rate, trees.n_estimators) == (1500, 50, 0.1, 500)
    assert len(plan.learners()) == 9
    assert plan.held_out == 0.2


def test_sigir_2014_and_2012_choose() -> None:
    assert [trees.min_child_samples for trees in PROTOCOLS["sigir2014"].grid(1_200_192)] == [500, 1000]
    assert len(PROTOCOLS["sigir2014"].learners()) == 13
    assert len(PROTOCOLS["sigir2012"].grid(1_200_192)) == 27


@pytest.mark.parametrize(
    ("rows", "expected"), [(1_200_192, 1500), (1_085_000, 1500), (602_500, 750), (15_211, 19), (40, 1)]
)
def test_docs_per_leaf_follow_the_size_of_the_data(rows: int, expected: int) -> None:
    plan = PROTOCOLS["sigir2016"]
    assert plan.docs_of(1500, rows) == expected
    assert replace(plan, scaled=False).docs_of(1500, rows) == 1500


def test_scaling_leaves_no_doubles_to_choose_from() -> None:
    assert len(PROTOCOLS["sigir2014"].grid(rows=300)) == 1


def test_fewer_trees() -> None:
    assert PROTOCOLS["sigir2016"].with_trees(30).trees == (30,)
    assert PROTOCOLS["sigir2012"].with_trees(150).trees == (50, 100, 150)


def test_a_plan_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "train.txt").touch()
    plan = read_plan(
        written(tmp_path, 'data = ["train.txt", "mq2008"]\nobjectives = "saro"\nalphas = [1, 2.5]\nfolds = 3\n')
    )
    assert plan.name == "my"
    assert plan.data == (str(tmp_path / "train.txt"), "mq2008")
    assert plan.learners() == [("lambdamart", 0.0), ("saro", 1.0), ("saro", 2.5)]
    assert plan.folds == 3


def test_a_published_plan_changed(tmp_path: Path) -> None:
    plan = read_plan(written(tmp_path, 'protocol = "sigir2016"\ntrees = 40\n'))
    assert plan == replace(PROTOCOLS["sigir2016"], name="my", trees=(40,), published=None)


def test_the_example_is_read_and_names_every_key() -> None:
    plan = read_plan(EXAMPLE)
    text = EXAMPLE.read_text()
    assert all(key.replace("_", "-") in text for key in KINDS)
    assert plan.data == ("mq2008",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objectives = [", "not valid TOML"),
        ("alpha = 1", "unknown key 'alpha'; the known ones are protocol, name, data"),
        ('protocol = "sigir2015"', "protocol must be one of sigir2012"),
        ('objectives = ["urisk"]', "objectives must be one of lambdamart, ucro"),
        ('objectives = ["ucro", "ucro"]', "each may be named once"),
        ('trees = "many"', "trees should be a whole number, or a list; got 'many'"),
        ("trees = 0", "trees must be whole numbers of 1 or more"),
        ("folds = 2", "folds must be 3 or more"),
        ("folds = [5]", "folds should be a whole number; got"),
        ("held-out = 0.2", "go together"),
        ('learned = ["SVM"]\nheld-out = 0.2', "learned baselines must be one of LambdaMART, GBRT"),
        ("held-out = 1.0\nlearned = 'AFS'", "held-out must be a fraction"),
        ('metric = "map"', "cutoffs belong to ndcg"),
        ("cutoffs = []", "ndcg needs a cutoff"),
        ("rates = [0.0]", "rates must be above 0"),
        ("alphas = [-1]", "alphas must be 0 or more"),
        ('columns = ["loss"]', "columns must be one of gain, reward"),
        ('empty = "skip"', "empty must be one of zero, one, drop"),
        ('spread = "iqr"', "spread must be one of sd, se, jforests"),
        ('truncation = "many"', "truncation should be a whole number; got 'many'"),
        ("own-folds = 1", "own-folds should be true or false"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SurefootError) as caught:
        read_plan(written(tmp_path, text))
    assert message in str(caught.value)
    assert "my.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_authors_own_code_as_a_plan(tmp_path: Path) -> None:
    text = 'protocol = "sigir2014"\ntruncation = "all"\nnorm = false\nsigmoid = 1\nspread = "jforests"\nempty = "one"\n'
    plan = read_plan(written(tmp_path, text))
    assert (plan.truncation, plan.norm, plan.sigmoid, plan.empty) == (None, False, 1.0, "one")
    assert plan.objective_options("faro") == {"spread": "jforests"}
    assert plan.objective_options("ucro") == PROTOCOLS["sigir2014"].objective_options("faro") == {}


def test_a_changed_plan_is_not_the_published_one() -> None:
    plan = PROTOCOLS["sigir2016"]
    assert replace(plan, data=("mslr-web10k",)).as_published
    for changed in (replace(plan, seed=1), replace(plan, baseline="feature:1"), plan.with_trees(50), Plan()):
        assert not changed.as_published


def test_keys_are_all_fields_but_two() -> None:
    assert {field.name for field in fields(Plan)} - set(KINDS) == {"query_max", "published"}


def test_metrics_are_named() -> None:
    assert list(Plan(cutoffs=(10, 1)).metrics()) == ["ndcg@10", "ndcg@1"]
    assert list(Plan(metric="err", cutoffs=()).metrics()) == ["err"]

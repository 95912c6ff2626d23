"""Losses of PyTorch against the kernels of trees, which walk the same pairs with their own arithmetic."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from surefoot.errors import SurefootError  # noqa: E402
from surefoot.learn.boosting import RiskObjective  # noqa: E402
from surefoot.learn.data import RankingData  # noqa: E402
from surefoot.learn.objectives import OBJECTIVES  # noqa: E402
from surefoot.learn.settings import PairOptions  # noqa: E402
from surefoot.torch import RiskLoss  # noqa: E402
from surefoot.torch.loss import Lists  # noqa: E402

CLOSE = 1e-5
SEVERAL = ("georisk", "georisk-full", "tstar-faro")
PAIRS = [PairOptions(), PairOptions(norm=False), PairOptions(truncation=3, sigmoid=2.0), PairOptions(truncation=None)]


class Queries:
    """Random queries, padded: some short, one of a single document, one without relevant documents, ties."""

    def __init__(self, seed: int = 0, queries: int = 30, longest: int = 25, baselines: int = 1) -> None:
        random = np.random.default_rng(seed)
        self.sizes = random.integers(2, longest + 1, size=queries)
        self.sizes[0], self.sizes[1] = 1, longest
        self.mask = torch.from_numpy(np.arange(longest) < self.sizes[:, None])
        shape = (queries, longest)
        self.labels = torch.from_numpy(random.choice(5, size=shape, p=[0.5, 0.2, 0.15, 0.1, 0.05]))
        self.labels[2] = 0
        merit = random.normal(size=(baselines + 1, *shape)) + 0.5 * self.labels.numpy()
        merit[:, 3] = merit[:, 3].round()
        self.scores = torch.from_numpy(merit[0]).requires_grad_()
        self.baselines = torch.from_numpy(merit[1:] if baselines > 1 else merit[1])

    def flat(self, tensor: Any) -> Any:
        return tensor[..., self.mask].detach()

    def data(self) -> RankingData:
        labels = self.flat(self.labels).numpy().astype(np.float32)
        bounds = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        names = tuple(str(query) for query in range(self.sizes.size))
        return RankingData(np.zeros((labels.size, 0), np.float32), labels, bounds, names)

    def gradients_of_trees(self, name: str, alpha: float, pairs: PairOptions, **options: Any) -> np.ndarray:
        rows = self.flat(self.baselines).numpy()
        baseline: Any = rows if rows.ndim == 1 else list(rows)
        objective = RiskObjective(name, alpha, baseline, pairs=pairs, n_jobs=1, **options)
        objective.bind(self.data())
        return objective.gradients(self.flat(self.scores).numpy())[0].copy()

    def assert_close(self, got: Any, expected: np.ndarray) -> None:
        """Within CLOSE of the largest gradient of the query, as sums of either sign have no precision of their own."""
        split = np.split(expected, np.cumsum(self.sizes)[:-1])
        largest = np.repeat([np.abs(part).max() for part in split], self.sizes)
        over = np.abs(got.numpy() - expected) - CLOSE * largest
        assert over.max() <= 1e-12, f"document {over.argmax()}: {got[over.argmax()]:g}, not {expected[over.argmax()]:g}"


@pytest.mark.parametrize("pairs", PAIRS, ids=["default", "no norm", "truncated", "all pairs"])
@pytest.mark.parametrize("name", sorted(set(OBJECTIVES) - {"hard"}))
def test_gradients_are_those_of_trees(name: str, pairs: PairOptions) -> None:
    for seed in range(3):
        batch = Queries(seed, baselines=3 if name in SEVERAL else 1)
        loss = RiskLoss(name, alpha=1.0, pairs=pairs, reduction="sum")
        loss(batch.scores, batch.labels, batch.baselines, batch.mask).backward()
        batch.assert_close(batch.flat(batch.scores.grad), batch.gradients_of_trees(name, 1.0, pairs))
        assert batch.scores.grad[~batch.mask].count_nonzero() == 0


@pytest.mark.parametrize("metric", ["map", "mrr", "err"])
def test_other_metrics(metric: Any) -> None:
    batch, pairs = Queries(), PairOptions(metric=metric)
    RiskLoss("ucro", 5.0, pairs=pairs, reduction="sum")(
        batch.scores, batch.labels, batch.baselines, batch.mask
    ).backward()
    batch.assert_close(batch.flat(batch.scores.grad), batch.gradients_of_trees("ucro", 5.0, pairs))


@pytest.mark.parametrize("empty", ["zero", "one", "drop"])
def test_queries_without_relevant_documents(empty: Any) -> None:
    batch, pairs = Queries(), PairOptions(empty=empty)
    RiskLoss("tail", 5.0, pairs=pairs, reduction="sum")(
        batch.scores, batch.labels, batch.baselines, batch.mask
    ).backward()
    batch.assert_close(batch.flat(batch.scores.grad), batch.gradients_of_trees("tail", 5.0, pairs))


def test_rows_with_groups_are_padded_lists() -> None:
    batch = Queries()
    loss = RiskLoss("ucro", alpha=2)
    padded = loss(batch.scores, batch.labels, batch.baselines, batch.mask)
    rows = loss(batch.flat(batch.scores), batch.flat(batch.labels), batch.flat(batch.baselines), groups=batch.sizes)
    assert padded.item() == pytest.approx(rows.item(), rel=1e-12)
    (gradient,) = torch.autograd.grad(padded, batch.scores)
    moved = torch.where(batch.mask, batch.scores, 7.0)
    assert loss(moved, batch.labels, batch.baselines, batch.mask).item() == pytest.approx(padded.item(), rel=1e-12)
    assert gradient[~batch.mask].count_nonzero() == 0


def test_half_precision_and_untracked_batches() -> None:
    batch = Queries()
    loss = RiskLoss("georisk", alpha=1)
    half = batch.scores.detach().half().requires_grad_()
    loss(half, batch.labels, batch.baselines, batch.mask).backward()
    assert half.grad.isfinite().all()
    remembered = loss.weights.remembered.copy()
    with torch.no_grad():
        loss(batch.scores, batch.labels, batch.baselines, batch.mask)
    loss.eval()(batch.scores, batch.labels, batch.baselines, batch.mask)
    np.testing.assert_array_equal(loss.weights.remembered, remembered)


def test_a_resumed_training_remembers() -> None:
    first, second = Queries(1), Queries(2)
    loss = RiskLoss("saro", alpha=1)
    loss(first.scores, first.labels, first.baselines, first.mask)
    resumed = RiskLoss("saro", alpha=1)
    resumed.load_state_dict(loss.state_dict())
    values = [one(second.scores, second.labels, second.baselines, second.mask).item() for one in (loss, resumed)]
    assert values[0] == values[1]


def test_a_batch_without_documents_has_no_loss() -> None:
    scores = torch.zeros(2, 3, requires_grad=True)
    loss = RiskLoss()(scores, scores, scores, torch.zeros(2, 3, dtype=torch.bool))
    loss.backward()
    assert loss.item() == 0


def test_a_query_without_documents_changes_nothing() -> None:
    batch = Queries(queries=4)
    more = [torch.cat([part, torch.full_like(part[:1], value)]) for part, value in
            ((batch.scores.detach(), 9.0), (batch.labels, 0), (batch.baselines, 0.0), (batch.mask, False))]  # fmt: skip
    loss = RiskLoss("ucro", reduction="sum")
    alone = loss(batch.scores, batch.labels, batch.baselines, batch.mask)
    assert loss(*more).item() == pytest.approx(alone.item(), rel=1e-6)


ROW = torch.zeros(1, 3)
BAD: list[tuple[str, Any]] = [
    ("queries × documents", lambda: RiskLoss()(torch.zeros(3), torch.zeros(3), torch.zeros(3))),
    ("mask must be a bool for each of 1 × 3", lambda: RiskLoss()(ROW, ROW, ROW, torch.ones(1, 3))),
    ("give one of the two", lambda: RiskLoss()(ROW, ROW, ROW, ROW > 0, groups=[3])),
    ("2 documents in all", lambda: RiskLoss()(ROW[0], ROW[0], ROW[0], groups=[2])),
    ("labels must have the shape of scores, 1 × 3; got 1 × 2", lambda: RiskLoss()(ROW, ROW[:, :2], ROW)),
    ("labels must be whole numbers", lambda: RiskLoss()(ROW, ROW + 0.5, ROW)),
    ("scores must be finite", lambda: RiskLoss()(ROW + torch.nan, ROW, ROW)),
    ("objective ucro needs a baseline", lambda: RiskLoss()(ROW, ROW)),
    ("compares with one baseline; got 2 baselines", lambda: RiskLoss()(ROW, ROW, torch.zeros(2, 1, 3))),
    ("did you mean ucro", lambda: RiskLoss("urco")),
    ("has the options", lambda: RiskLoss("ucro", shares=2)),
    ("leave risk_metric out", lambda: RiskLoss(pairs=PairOptions(risk_metric="mrr"))),
    ("memory must be 0 or more", lambda: RiskLoss(memory=-1)),
]


@pytest.mark.parametrize(("message", "call"), BAD, ids=[message for message, _ in BAD])
def test_bad_input(message: str, call: Any) -> None:
    with pytest.raises(SurefootError, match=message):
        call()


def test_lists_of_several_baselines() -> None:
    lists = Lists.of(torch.zeros(2, 2), torch.tensor([[True, False], [True, True]]))
    found = lists.baselines(torch.arange(8.0).reshape(2, 2, 2))
    assert found.names == ("baseline 1", "baseline 2")
    assert np.array(found.scores).tolist() == [[0, 2, 3], [4, 6, 7]]

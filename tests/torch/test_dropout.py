"""The peer's loss: GeoRisk among sub-networks."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from surefoot.errors import SurefootError  # noqa: E402
from surefoot.risk import georisk  # noqa: E402
from surefoot.torch import DropoutRiskLoss  # noqa: E402
from surefoot.torch.dropout import squared_georisk  # noqa: E402


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_georisk_is_that_of_the_core(alpha: float) -> None:
    matrix = np.random.default_rng(0).random((5, 40))
    got = [squared_georisk(torch.from_numpy(matrix), row, alpha).item() for row in range(5)]
    np.testing.assert_allclose(got, georisk(matrix, alpha) ** 2, rtol=1e-12)


def test_gradients_flow_through_the_baselines_too() -> None:
    matrix = torch.rand(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.autograd.gradcheck(lambda cells: squared_georisk(cells, 0, 2.0), matrix)
    squared_georisk(matrix, 0, 2.0).backward()
    assert (matrix.grad[1:] != 0).all()


def test_the_loss_falls_as_the_network_learns() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1))
    features = torch.randn(20, 6, 4)
    labels = (features[..., 0] > 0.5).long()
    mask = torch.arange(6) < torch.randint(2, 7, (20, 1))
    loss, optimiser = DropoutRiskLoss(alpha=1, n_baselines=3), torch.optim.Adam(model.parameters(), 0.01)
    values = []
    for _ in range(60):
        value = loss(lambda: model(features).squeeze(-1), labels, mask)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < 0.5 * values[0]


def test_padding_changes_nothing() -> None:
    scores = iter(torch.randn(6, 1, 3, generator=torch.Generator().manual_seed(1)).repeat(2, 1, 1))
    labels, loss = torch.tensor([[1, 0, 2]]), DropoutRiskLoss(n_baselines=2)
    first = [next(scores) for _ in range(3)]
    plain = loss(iter(first).__next__, labels)
    padded = [torch.nn.functional.pad(one, (0, 2), value=50.0) for one in first]
    mask = torch.arange(5)[None] < 3
    assert loss(iter(padded).__next__, torch.nn.functional.pad(labels, (0, 2)), mask).item() == pytest.approx(
        plain.item()
    )


def test_bad_input() -> None:
    with pytest.raises(SurefootError, match="has no dropout, or is not in training mode"):
        DropoutRiskLoss()(lambda: torch.ones(1, 2), torch.ones(1, 2))
    with pytest.raises(SurefootError, match="n_baselines must be 1 or more"):
        DropoutRiskLoss(n_baselines=0)

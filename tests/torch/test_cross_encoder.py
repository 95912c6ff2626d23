"""Cross-encoders of sentence-transformers: a tiny one, made here without a download."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

from surefoot.errors import SurefootError  # noqa: E402

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] apple pear plum cherry river lake sea brook bread".split()
QUERIES = ["apple", "river lake", "plum"]
DOCUMENTS = [["apple pear", "river", "plum"], ["lake sea", "apple"], ["plum", "brook bread", "pear", "plum plum"]]
LABELS = [[2, 0, 1], [1, 0], [1, 0, 0, 2]]
BASELINE = [[3.0, 2.0, 1.0], [1.0, 2.0], [1.0, 4.0, 2.0, 3.0]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32, num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return CrossEncoder(str(folder), device="cpu")


def labels() -> list[Any]:
    return [torch.tensor(one) for one in LABELS]


def test_the_plain_objective_is_lambda_rank(model: Any) -> None:
    from sentence_transformers.cross_encoder.losses import LambdaLoss, LambdaRankScheme

    from surefoot.torch import RiskLambdaLoss, RiskWeights

    model.eval()
    for k in (None, 2):
        theirs = LambdaLoss(model, LambdaRankScheme(), k=k)([QUERIES, DOCUMENTS], labels())
        ours = RiskLambdaLoss(model, RiskWeights("lambdamart"), k=k)([QUERIES, DOCUMENTS, BASELINE], labels())
        assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)


def test_losing_queries_weigh_more() -> None:
    """Weights of U-CRO, written out: a change below the baseline counts 1 + alpha times."""
    from surefoot.torch import RiskWeights

    gain = torch.tensor([[0.2, 0.5, 0.0], [0.6, 0.1, 0.0]])
    discount = torch.log2(2 + torch.arange(3.0))[None]
    scheme = RiskWeights("ucro", alpha=2)
    scheme.baselines = torch.tensor([[0.6, 0.3]])
    weights = scheme(gain, discount, gain)
    x = (gain / discount).sum(dim=1)
    value = lambda d: torch.where(d < 0, 3 * d, d)  # noqa: E731
    for query in range(2):
        for i in range(3):
            for j in range(3):
                swap = (gain[query, i] - gain[query, j]) * (1 / discount[0, j] - 1 / discount[0, i])
                d = x[query] - scheme.baselines[0, query]
                expected = abs(value(d + swap) - value(d))
                assert weights[query, i, j].item() == pytest.approx(expected.item(), abs=1e-6)


def test_a_model_learns_and_is_watched(model: Any, tmp_path: Path) -> None:
    from surefoot.torch import CrossEncoderRiskEvaluator, RiskLambdaLoss, RiskWeights

    model.train()
    evaluator = CrossEncoderRiskEvaluator(QUERIES, DOCUMENTS, LABELS, BASELINE, alpha=2, name="dev")
    before = evaluator(model, str(tmp_path), epoch=0, steps=1)
    loss = RiskLambdaLoss(model, RiskWeights("georisk", alpha=1), mini_batch_size=4)
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    model.train()
    for _ in range(15):
        optimiser.zero_grad()
        loss([QUERIES, DOCUMENTS, BASELINE], labels()).backward()
        optimiser.step()
    after = evaluator(model)
    assert after["dev_mean"] > before["dev_mean"]
    assert after["dev_losses"] <= before["dev_losses"]
    assert evaluator.primary_metric == "dev_urisk"
    assert evaluator.greater_is_better
    assert (tmp_path / "surefoot_devepoch0-step1.csv").read_text().startswith("topic,")


def test_bad_input(model: Any) -> None:
    from surefoot.torch import RiskLambdaLoss, RiskWeights

    loss = RiskLambdaLoss(model, RiskWeights("ucro"))
    with pytest.raises(SurefootError, match=r"takes three columns.*got 2"):
        loss([QUERIES, DOCUMENTS], labels())
    with pytest.raises(SurefootError, match="3 documents need as many scores of the baseline; got 2"):
        loss([QUERIES, DOCUMENTS, [[1, 2], [1, 2], [1, 2, 3, 4]]], labels())
    with pytest.raises(SurefootError, match="objective ucro needs a baseline"):
        RiskWeights("ucro")(torch.ones(1, 2), torch.ones(1, 2), torch.ones(1, 2))

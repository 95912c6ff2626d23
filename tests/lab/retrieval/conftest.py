import pytest
from surefoot_lab.retrieval.collection import Collection
from surefoot_lab.retrieval.index import Index


@pytest.fixture
def small() -> Collection:
    """Five documents in which a count can be made by eye."""
    return Collection(
        documents={
            "harbour.Boat": "boat mast boat rope",
            "harbour.Mast": "mast rope",
            "harbour.Crane.lift": "lift the crane, lift the crane, lift the mast",
            "harbour.Crane.turn": "turn crane wheels with levers in a slow circle",
            "harbour.Buoy": "buoy buoy buoy rope boat",
        },
        queries={"q1": "boat rope", "q2": "lift crane crane", "q3": "zebra"},
        qrels={"q1": {"harbour.Boat": 4}, "q2": {"harbour.Crane.lift": 4, "harbour.Crane.turn": 1}},
    )


@pytest.fixture
def index(small: Collection) -> Index:
    return Index.of(small)

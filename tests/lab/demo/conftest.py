import pytest
from surefoot_lab.demo.task import collection
from surefoot_lab.retrieval.collection import Collection


@pytest.fixture(scope="session")
def library() -> Collection:
    """The standard library's task, built once for all tests."""
    return collection()


@pytest.fixture
def small() -> Collection:
    """Five documents in which a count can be made by eye."""
    return Collection(
        documents={
            "shop.Apple": "apple pear apple plum",
            "shop.Pear": "pear plum",
            "shop.Fig.eat": "eat the fig, eat the fig, eat the pear",
            "shop.Fig.grow": "grow fig trees from cuttings in a warm spring",
            "shop.Kiwi": "kiwi kiwi kiwi plum apple",
        },
        queries={"q1": "apple plum", "q2": "eat fig fig", "q3": "zebra"},
        qrels={"q1": {"shop.Apple": 4}, "q2": {"shop.Fig.eat": 4, "shop.Fig.grow": 1}, "q3": {"shop.Kiwi": 4}},
    )

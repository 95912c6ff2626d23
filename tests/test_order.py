"""The natural order of names."""

from hypothesis import given
from hypothesis import strategies as st

from surefoot._names import natural_order


@given(st.lists(st.text("019aé-", max_size=6)))
def test_digits_count_as_numbers(names):
    found = natural_order(names)
    assert sorted(found) == sorted(names)
    assert natural_order(reversed(found)) == found
    numbers = [name for name in found if name.isdigit()]
    assert [int(name) for name in numbers] == sorted(map(int, numbers))


@given(st.lists(st.from_regex(r"\A[0-9]{1,4}\Z")))
def test_numbers_alone_are_in_the_order_that_they_have_among_others(names):
    assert natural_order(names) == natural_order([*names, "x"])[:-1]


def test_very_long_numbers():
    assert natural_order(["q" + "9" * 5000, "q1" + "0" * 5000, "q7"]) == ("q7", "q" + "9" * 5000, "q1" + "0" * 5000)

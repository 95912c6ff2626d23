"""The part of the level that each of several candidates gets."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """How many candidates the topics were asked about, this one included, and which of them is the accepted one.

    The k-th candidate, asked about when the i-th was the last to be accepted, gets the part 1 / ((i + 1) (i + 2)) times
    1 / (g (g + 1)) of the level, where g = k - i. Over all i and g these parts add up to 1: whichever candidates are
    accepted on the way, all pairs of a candidate and the accepted one it may meet share one level.
    """

    number: int = 0
    accepted: int = 0

    @property
    def part(self) -> float:
        """The part of the level; all of it if nobody counts.

        >>> Question(3).part == 1 / 2 / 12, Question(3, accepted=2).part == 1 / 12 / 2
        (True, True)
        """
        if not self.number:
            return 1.0
        since = self.number - self.accepted
        return 1 / ((self.accepted + 1) * (self.accepted + 2) * since * (since + 1))


UNCOUNTED = Question()

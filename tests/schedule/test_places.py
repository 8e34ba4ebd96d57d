"""Places in a match: as even as any order makes them."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from arbiter.schedule.places import even_places


@given(st.data())
def test_no_order_is_more_even(data: st.DataObject) -> None:
    seats = data.draw(st.integers(2, 5), label="seats")
    before = data.draw(st.lists(st.permutations(range(seats)), max_size=7), label="before")
    had = Counter((member, place) for match in before for place, member in enumerate(match))

    def unevenness(order: tuple[int, ...]) -> int:
        now = had + Counter((member, place) for place, member in enumerate(order))
        return sum(times**2 for times in now.values())

    found = even_places(range(seats), before)
    assert sorted(found) == list(range(seats))
    assert unevenness(found) == min(map(unevenness, permutations(range(seats))))


def test_a_table_that_stays_together_turns() -> None:
    matches: list[tuple[str, ...]] = []
    for _ in range(8):
        matches.append(even_places("abcd", matches))
    assert matches[0] == tuple("abcd")
    assert set(Counter((member, place) for match in matches for place, member in enumerate(match)).values()) == {2}

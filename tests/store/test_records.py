"""The store's values by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import UsageError
from arbiter.store import FINISHED, TRANSITIONS, SittingKey, TournamentState
from tests.store.support import matches, tournament

IDS = st.text("AZaz09._-", min_size=1, max_size=64)
NUMBERS = st.integers(0, 999_999_999)


def test_a_sitting_key_is_written_as_a_path() -> None:
    assert str(SittingKey("demo-1a2b", 3, 0)) == "demo-1a2b/3/0"


@given(st.builds(SittingKey, IDS, NUMBERS, NUMBERS))
def test_a_sitting_key_is_read_as_it_was_written(key: SittingKey) -> None:
    assert SittingKey.parse(str(key)) == key


@given(st.text() | st.from_regex(r"[\w-]*/\d*/\d*/?", fullmatch=True, alphabet=st.characters(codec="latin-1")))
def test_what_is_read_as_a_sitting_key_is_written_the_same(text: str) -> None:
    try:
        key = SittingKey.parse(text)
    except UsageError:
        return
    assert str(key) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "demo",
        "demo/1",
        "demo/1/2/3",
        "/1/2",
        "demo/-1/2",
        "demo/01/2",
        "demo/1/x",
        "a b/1/2",
        "demo/1/2\n",
        "d/٣/0",
    ],
)
def test_nonsense_is_no_sitting_key(text: str) -> None:
    with pytest.raises(UsageError, match="write TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0"):
        SittingKey.parse(text)


def test_sitting_keys_sort_in_schedule_order() -> None:
    keys = [SittingKey("t", match, sitting) for match in (0, 2, 10) for sitting in (0, 9, 11)]
    assert sorted(keys[4:] + keys[:4]) == keys


def test_every_state_has_its_transitions_and_none_leads_to_itself() -> None:
    assert set(TRANSITIONS) == set(TournamentState)
    assert all(state not in following for state, following in TRANSITIONS.items())


def test_completed_and_cancelled_are_final_and_failed_can_be_resumed() -> None:
    assert {state for state in TournamentState if not TRANSITIONS[state]} == FINISHED - {TournamentState.FAILED}
    assert TournamentState.RUNNING in TRANSITIONS[TournamentState.FAILED]


def test_a_deal_seed_is_not_printed() -> None:
    assert "secret" not in repr(tournament())
    assert "secret" not in repr(matches())

"""Submitted versions where several submit at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest

from arbiter.errors import UsageError
from arbiter.store import (
    NameTaken,
    Quota,
    QuotaExceeded,
    Store,
    Submission,
    TransitionRefused,
    Version,
    VersionState,
)
from tests.store.support import START

THREADS = 8
SUBMISSION = Submission("ada", "ducker", "request-1", "d" * 64, 100)


def at_once(submit: Callable[[int], Version]) -> list[Version | type[UsageError]]:
    """What each of several threads gets, the class of the error where it is refused."""
    together = Barrier(THREADS)

    def one(number: int) -> Version | type[UsageError]:
        together.wait()
        try:
            return submit(number)
        except (NameTaken, QuotaExceeded, TransitionRefused) as error:
            return type(error)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def names(outcomes: list[Version | type[UsageError]]) -> Counter[str]:
    return Counter(each.name if isinstance(each, Version) else each.__name__ for each in outcomes)


def test_no_more_than_a_quota_is_taken_of_many_submissions_at_once(store: Store) -> None:
    def submit(number: int) -> Version:
        return store.versions.receive(replace(SUBMISSION, request_id=f"request-{number}"), Quota(3), START)

    assert names(at_once(submit)) == {"ducker@1": 1, "ducker@2": 1, "ducker@3": 1, "QuotaExceeded": THREADS - 3}


def test_a_quota_of_bytes_and_of_bots_holds_as_well(store: Store) -> None:
    def submit(number: int) -> Version:
        submission = replace(SUBMISSION, bot=f"bot{number}", request_id=f"request-{number}", digest=f"{number:064x}")
        return store.versions.receive(submission, Quota(stored_bytes=250), START)

    assert names(at_once(submit))["QuotaExceeded"] == THREADS - 2
    for owner in ("bob", "cyd"):

        def found(number: int, owner: str = owner) -> Version:
            submission = replace(SUBMISSION, owner=owner, bot=f"{owner}{number}", request_id=f"request-{number}")
            return store.versions.receive(submission, Quota(bots=2), START)

        assert names(at_once(found))["QuotaExceeded"] == THREADS - 2


def test_a_submission_counts_for_a_day(store: Store) -> None:
    quota, day = Quota(submissions_per_day=1), timedelta(days=1)
    store.versions.receive(SUBMISSION, quota, START)
    later = replace(SUBMISSION, request_id="request-2")
    with pytest.raises(QuotaExceeded, match="ada has made 1 submissions within a day"):
        store.versions.receive(later, quota, START + day - timedelta(seconds=1))
    assert store.versions.receive(later, quota, START + day).number == 2


def test_another_version_is_no_other_bot(store: Store) -> None:
    store.versions.receive(SUBMISSION, Quota(bots=1), START)
    store.versions.receive(replace(SUBMISSION, request_id="request-2"), Quota(bots=1), START)
    with pytest.raises(QuotaExceeded, match="ada has 1 bots already"):
        store.versions.receive(replace(SUBMISSION, bot="other", request_id="request-3"), Quota(bots=1), START)


def test_one_request_from_many_makes_one_version(store: Store) -> None:
    outcomes = at_once(lambda _: store.versions.receive(SUBMISSION, Quota(), START))
    assert names(outcomes) == {"ducker@1": THREADS}
    assert len(store.versions.versions()) == 1


def test_of_many_owners_who_want_one_name_one_gets_it(store: Store) -> None:
    outcomes = at_once(lambda number: store.versions.receive(replace(SUBMISSION, owner=f"o{number}"), Quota(), START))
    assert names(outcomes) == {"ducker@1": 1, "NameTaken": THREADS - 1}


def test_of_many_who_move_a_version_on_one_does(store: Store) -> None:
    store.versions.receive(SUBMISSION, Quota(), START)
    outcomes = at_once(lambda _: store.versions.move("ducker", 1, VersionState.BUILDING, START))
    assert names(outcomes) == {"ducker@1": 1, "TransitionRefused": THREADS - 1}

"""Builds, quotas over all that is kept, what may be swept, and request ids, on each kind of database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import select

from arbiter.store import (
    BuildState,
    Quota,
    QuotaExceeded,
    Store,
    Submission,
    TournamentState,
    UnknownBuild,
    UnknownVersion,
    VersionState,
)
from arbiter.store.tables import BuildRow, VersionRow
from tests.store.support import START, create

SUBMISSION = Submission("ada", "ducker", "r1", "1" * 64, 100, needs_build=True)
DAY = timedelta(days=1)


def receive(store: Store, number: int, quota: Quota | None = None, **rest: object) -> int:
    submission = replace(SUBMISSION, request_id=f"r{number}", digest=f"{number:064x}", **rest)  # type: ignore[arg-type]  # its fields
    return store.versions.receive(submission, quota or Quota(), START).number


def built(store: Store, number: int, digest: str, size: int, quota: Quota | None = None) -> None:
    """A version is built, tried out and active."""
    store.versions.move("ducker", number, VersionState.BUILDING, START)
    store.versions.move("ducker", number, VersionState.VALIDATING, START, built=digest, built_size=size, quota=quota)
    store.versions.move("ducker", number, VersionState.ACTIVE, START)


class TestBuilds:
    def test_each_is_numbered_and_kept_with_its_end(self, store: Store) -> None:
        receive(store, 1)
        assert store.builds.begin("ducker", 1, Quota(), START) == 1
        running = store.builds.get("ducker", 1)
        assert (running.state, running.detail, running.ended_at) == (BuildState.RUNNING, "", None)
        later = START + timedelta(seconds=3)
        store.builds.end("ducker", 1, 1, BuildState.BUILT, "built", later, log="cc\0 -o", digest="b" * 64, size=7)
        found = store.builds.get("ducker", 1, 1)
        assert (found.state, found.digest, found.size) == (BuildState.BUILT, "b" * 64, 7)
        assert store.builds.log("ducker", 1, 1) == store.builds.log("ducker", 1) == "cc\ufffd -o"
        assert (found.began_at, found.ended_at) == (START, later)

    def test_one_that_still_runs_when_the_next_begins_was_interrupted(self, store: Store) -> None:
        receive(store, 1)
        assert [store.builds.begin("ducker", 1, Quota(), START) for _ in range(2)] == [1, 2]
        assert [build.state for build in store.builds.builds()] == [BuildState.INTERRUPTED, BuildState.RUNNING]
        assert store.builds.get("ducker", 1).number == 2

    def test_pages_go_through_all_in_order(self, store: Store) -> None:
        for number in (1, 2):
            receive(store, number)
        receive(store, 3, bot="ant")
        for bot, version in (("ducker", 2), ("ducker", 1), ("ant", 1), ("ducker", 1)):
            store.builds.begin(bot, version, Quota(), START)
        places, after = [], ("", 0, 0)
        while page := store.builds.builds(after=after, limit=1):
            after = (page[0].bot, page[0].version, page[0].number)
            places.append(after)
        assert places == [("ant", 1, 1), ("ducker", 1, 1), ("ducker", 1, 2), ("ducker", 2, 1)]
        assert [build.bot for build in store.builds.builds("ant")] == ["ant"]

    def test_what_is_not_there(self, store: Store) -> None:
        with pytest.raises(UnknownVersion, match="there is no version ducker@1"):
            store.builds.begin("ducker", 1, Quota(), START)
        receive(store, 1)
        with pytest.raises(UnknownBuild, match="ducker@1 has no build; its runtime may need none"):
            store.builds.get("ducker", 1)
        with pytest.raises(UnknownBuild, match="ducker@1 has no build 4"):
            store.builds.get("ducker", 1, 4)
        with pytest.raises(UnknownBuild, match="ducker@1 has no build 2147483648"):
            store.builds.get("ducker", 1, 2**31)
        with pytest.raises(UnknownVersion, match="there is no version ducker@4294967295"):
            store.builds.get("ducker", 2**32 - 1)
        with pytest.raises(UnknownBuild, match="ducker@1 has no build 4"):
            store.builds.end("ducker", 1, 4, BuildState.BUILT, "", START)


class TestQuotas:
    def test_builds_of_a_day_count_but_not_where_the_machine_was_at_fault(self, store: Store) -> None:
        quota = Quota(builds_per_day=2)
        receive(store, 1, quota)
        store.versions.move("ducker", 1, VersionState.BUILDING, START)
        for state in (BuildState.FAILED, BuildState.INTERRUPTED, BuildState.INTERRUPTED):
            store.builds.end("ducker", 1, store.builds.begin("ducker", 1, Quota(), START), state, "", START)
        receive(store, 2, quota)
        with pytest.raises(QuotaExceeded, match="ada has had 1 builds within a day, and 1 wait, which is all"):
            receive(store, 3, quota)
        store.versions.move("ducker", 2, VersionState.BUILDING, START)
        store.builds.begin("ducker", 2, quota, START)
        with pytest.raises(QuotaExceeded, match="ada has had 2 builds within a day, which is all"):
            receive(store, 3, quota)
        receive(store, 4, quota, needs_build=False)
        receive(store, 5, quota, owner="bob", bot="other")
        submission = replace(SUBMISSION, request_id="tomorrow")
        assert store.versions.receive(submission, quota, START + DAY + timedelta(seconds=1)).number == 4

    def test_a_build_begins_only_within_the_quota(self, store: Store) -> None:
        """However it comes to be built: tried again, or received before builds that wait were counted."""
        quota = Quota(builds_per_day=2)
        receive(store, 1)
        store.builds.end("ducker", 1, store.builds.begin("ducker", 1, quota, START), BuildState.BUILT, "", START)
        store.builds.begin("ducker", 1, quota, START)
        assert store.builds.begin("ducker", 1, quota, START) == 3, "in the place of one that was interrupted"
        receive(store, 2)
        with pytest.raises(QuotaExceeded, match="ada has had 2 builds within a day"):
            store.builds.begin("ducker", 2, quota, START)
        with pytest.raises(QuotaExceeded, match="ada has had 1 builds within a day"):
            store.builds.begin("ducker", 1, replace(quota, builds_per_day=1), START)
        assert store.builds.get("ducker", 1).state is BuildState.INTERRUPTED, "of which it is noted all the same"
        store.builds.begin("ducker", 2, quota, START)

    def test_of_many_builds_at_once_no_more_begin(self, store: Store) -> None:
        quota, count = Quota(builds_per_day=3), 8
        for number in range(1, count + 1):
            receive(store, number)
        together = Barrier(count)

        def begin(number: int) -> bool:
            together.wait()
            try:
                store.builds.begin("ducker", number, quota, START)
            except QuotaExceeded:
                return False
            return True

        with ThreadPoolExecutor(count) as pool:
            assert sum(pool.map(begin, range(1, count + 1))) == 3

    def test_what_was_built_counts_as_stored(self, store: Store) -> None:
        quota = Quota(stored_bytes=1000)
        receive(store, 1, quota)
        built(store, 1, "b" * 64, 800, quota)
        with pytest.raises(QuotaExceeded, match="ada has 900 bytes stored; 101 more are above the 1000"):
            receive(store, 2, quota, size=101)
        receive(store, 2, quota)

    def test_a_result_that_is_too_much_is_refused_and_changes_nothing(self, store: Store) -> None:
        quota = Quota(stored_bytes=1000)
        receive(store, 1, quota)
        with pytest.raises(QuotaExceeded, match="ada has 100 bytes stored; 901 more"):
            built(store, 1, "b" * 64, 901, quota)
        assert store.versions.get("ducker", 1).state is VersionState.BUILDING

    def test_the_same_content_is_stored_once(self, store: Store) -> None:
        quota = Quota(stored_bytes=150)
        for number in range(1, 5):
            submission = replace(SUBMISSION, request_id=f"r{number}")
            store.versions.receive(submission, quota, START)
            built(store, number, SUBMISSION.digest, SUBMISSION.size, quota)

    @pytest.mark.parametrize("end", [VersionState.FAILED, VersionState.RETIRED])
    def test_what_failed_or_was_retired_counts_for_a_day_more(self, store: Store, end: VersionState) -> None:
        quota = Quota(stored_bytes=150)
        receive(store, 1, quota)
        store.versions.move("ducker", 1, end, START + DAY)
        other = replace(SUBMISSION, request_id="r2", digest="2" * 64)
        with pytest.raises(QuotaExceeded, match="100 bytes stored"):
            store.versions.receive(other, quota, START + 2 * DAY - timedelta(seconds=1))
        store.versions.receive(other, quota, START + 2 * DAY)

    def test_what_still_plays_counts_until_that_is_over(self, store: Store) -> None:
        quota = Quota(stored_bytes=1000)
        receive(store, 1, quota)
        built(store, 1, "digest-2", 600, quota)  # of an entrant of the tournament
        create(store, "cup")
        store.versions.move("ducker", 1, VersionState.RETIRED, START)
        other, later = replace(SUBMISSION, request_id="r2", digest="2" * 64, size=500), START + 2 * DAY
        with pytest.raises(QuotaExceeded, match=r"600 bytes stored; 500 more .* when what they play in is over"):
            store.versions.receive(other, quota, later)
        assert "digest-2" in store.versions.referenced(later)
        store.set_state("cup", TournamentState.CANCELLED, now=later)
        store.versions.receive(other, quota, later)
        assert "digest-2" not in store.versions.referenced(later)


def test_contents_are_needed_while_somebody_may_use_them(store: Store) -> None:
    for number in (1, 2, 3):
        receive(store, number)
        built(store, number, f"{number + 10:064x}", 1)
    store.versions.move("ducker", 1, VersionState.RETIRED, START)
    store.versions.move("ducker", 2, VersionState.RETIRED, START + DAY)
    create(store, "cup")
    entrants = {entrant.digest for entrant in store.entrants("cup")}
    needed = {f"{number:064x}" for number in (2, 3, 12, 13)}
    assert store.versions.referenced(START + DAY) == needed | entrants
    assert entrants


@pytest.mark.parametrize("table", [VersionRow, BuildRow])
def test_lists_do_not_read_logs(table: type[VersionRow | BuildRow]) -> None:
    """A page of a thousand would hold 64 MiB of them."""
    wanted = str(select(table))
    assert f"{table.__tablename__}.state" in wanted
    assert f"{table.__tablename__}.log" not in wanted

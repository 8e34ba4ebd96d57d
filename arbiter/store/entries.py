"""Who has entered a tournament that is still a draft, and how a draft becomes a plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from arbiter.store import plans
from arbiter.store.database import Database
from arbiter.store.errors import EntryRefused, TransitionRefused
from arbiter.store.records import Entrant, Match, Tournament, TournamentState, check_aware
from arbiter.store.tables import EntryRow, TournamentRow
from arbiter.store.versions import VersionState, existing_version


@dataclass(frozen=True, slots=True)
class Entry:
    """A version that its owner entered.

    Attributes:
        bot: Name of the bot.
        version: Number of the version.
        owner: Who owns it.
        side: The side that it plays for; empty where the rule set has no teams.
    """

    bot: str
    version: int
    owner: str
    side: str = ""


class Entries:
    """Entries of all drafts. Every method is one transaction; raises `StoreError` when the database fails, and
    `UnknownTournament`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enter(self, tournament: str, entry: Entry, *, per_owner: int, per_side: int, limit: int, now: datetime) -> None:
        """Enter a bot, or change which version of it is entered. A side is its first member's owner's.

        Raises:
            TransitionRefused: the tournament is no draft any more.
            EntryRefused: its owner has entered `per_owner` bots, there are `limit` entries, or the side is another's or
                has `per_side` bots.
        """
        check_aware(now)
        with self._database.write() as session:
            _draft(session, tournament)
            present = _rows(session, tournament)
            others = [row for row in present if row.bot_name != entry.bot]
            if sum(row.owner == entry.owner for row in others) >= per_owner:
                raise EntryRefused(f"{entry.owner} has entered {per_owner} bots, which is all that {tournament} allows")
            if len(others) >= limit:
                raise EntryRefused(f"{tournament} has {limit} entries, which is all that it takes")
            if entry.side and any(row.side == entry.side and row.owner != entry.owner for row in others):
                raise EntryRefused(f"side {entry.side!r} is another contestant's; choose another name")
            if entry.side and sum(row.side == entry.side for row in others) >= per_side:
                raise EntryRefused(f"side {entry.side!r} has {per_side} bots, which is all of it; choose another name")
            row = next((row for row in present if row.bot_name == entry.bot), None)
            if row is None:
                row = EntryRow(tournament_id=tournament, bot_name=entry.bot, owner=entry.owner, entered_at=now)
                session.add(row)
            row.version_number, row.side = entry.version, entry.side

    def withdraw(self, tournament: str, bot: str, owner: str | None = None) -> None:
        """Take an entry back, where an owner is given only one of theirs.

        Raises:
            TransitionRefused: as `enter` does.
            EntryRefused: there is no such entry.
        """
        with self._database.write() as session:
            _draft(session, tournament)
            row = session.get(EntryRow, (tournament, bot))
            if row is None or owner not in (None, row.owner):
                raise EntryRefused(f"bot {bot!r} has not entered {tournament}")
            session.delete(row)

    def entries(self, tournament: str) -> list[Entry]:
        """The entries, in the order in which they were made."""
        with self._database.read() as session:
            plans.get(session, tournament)
            return [_entry(row) for row in _rows(session, tournament)]

    def close(
        self,
        tournament: str,
        spec: dict[str, object],
        entries: Sequence[Entry],
        versions: Collection[tuple[str, int]],
        entrants: Sequence[Entrant],
        matches: Sequence[Match],
        sittings_per_match: int,
    ) -> Tournament | None:
        """Make a plan of a draft, with the entrants that came of these entries and play these versions, by bot and
        number; returns it scheduled.

        None, and nothing is changed, when the entries are others by now or a version is not active. Raises
        `TransitionRefused` when it is no draft any more, and `InvalidPlan` as `Store.create_tournament` does.
        """
        with self._database.write() as session:
            row = _draft(session, tournament)
            if [_entry(each) for each in _rows(session, tournament)] != list(entries):
                return None
            # In one order for all, so that no two wait for each other.
            rows = [existing_version(session, *version, lock=True) for version in sorted(versions)]
            if any(each.state != VersionState.ACTIVE for each in rows):
                return None
            return plans.complete(session, row, spec, entrants, matches, sittings_per_match)


def _draft(session: Session, tournament: str) -> TournamentRow:
    row = plans.locked(session, tournament)
    if row.state is not TournamentState.DRAFT:
        raise TransitionRefused(
            f"tournament {tournament!r} is {row.state}; bots can enter and leave only while it is draft"
        )
    return row


def _rows(session: Session, tournament: str) -> list[EntryRow]:
    wanted = select(EntryRow).where(EntryRow.tournament_id == tournament)
    return list(session.scalars(wanted.order_by(EntryRow.entered_at, EntryRow.bot_name)))


def _entry(row: EntryRow) -> Entry:
    return Entry(row.bot_name, row.version_number, row.owner, row.side)

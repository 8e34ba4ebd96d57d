"""What is published of a deal set, and when: nothing of it leaves before its last sitting is recorded.

Its commitment alone is public from the beginning. Replays, logs and deal seeds go through here and no other way, for
each of them tells the cards to whoever still has to play them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from arbiter.errors import UsageError
from arbiter.match import Replay, unpack_replay
from arbiter.store import Fault, Match, SittingKey, Store, TournamentState


class NotReleased(UsageError):
    """The deal set is still being played."""


@dataclass(frozen=True, slots=True)
class BotReport:
    """How one bot's process of a sitting ended, what it wrote, and what it did wrong."""

    entrant: int
    """Its entrant's index in the tournament."""
    name: str
    ending: str | None
    """None when the worker reported none."""
    log: str
    """Its stderr as far as it was kept."""
    faults: tuple[Fault, ...]
    """As they happened."""


@dataclass(frozen=True, slots=True)
class PublishedDealSet:
    """What everyone may know of a match's deal set."""

    match: int
    boards: int
    commitment: str
    deal_seed: bytes | None = field(repr=False)
    """None until the last sitting over it is recorded."""


@dataclass(frozen=True, slots=True)
class PublishedDeals:
    """What everyone may know of a tournament's deals."""

    tournament: str
    seed: bytes | None = field(repr=False)
    """The tournament's seed, from which all others follow; None until the tournament is completed."""
    deal_sets: tuple[PublishedDealSet, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``: seeds in hexadecimal digits."""
        return {
            "tournament": self.tournament,
            "tournament_seed": self.seed.hex() if self.seed is not None else None,
            "deal_sets": [
                {
                    "match": deal_set.match,
                    "boards": deal_set.boards,
                    "commitment": deal_set.commitment,
                    "deal_seed": deal_set.deal_seed.hex() if deal_set.deal_seed is not None else None,
                }
                for deal_set in self.deal_sets
            ],
        }


def published_deals(store: Store, tournament_id: str) -> PublishedDeals:
    """The commitments of a tournament's deal sets, and those seeds that no bot can make use of any more.

    A deal seed is published with the last sitting over its deal set. The tournament's seed gives away every deal seed,
    so it has to wait until all is recorded and nothing can be played any more.

    Raises:
        UnknownTournament: there is no such tournament.
    """
    tournament = store.tournament(tournament_id)
    over = tournament.state is TournamentState.COMPLETED and store.progress(tournament_id).done
    return PublishedDeals(
        tournament=tournament_id,
        seed=tournament.deal_seed if over else None,
        deal_sets=tuple(
            PublishedDealSet(
                match=match.index,
                boards=match.boards,
                commitment=match.commitment,
                deal_seed=match.deal_seed if over or store.deal_set_recorded(tournament_id, match.index) else None,
            )
            for match in store.matches(tournament_id)
        ),
    )


def released_replay(store: Store, key: SittingKey) -> Replay:
    """The replay of a sitting whose deal set is played to its end.

    Raises:
        NotReleased: other sittings over the deal set are still to be played.
        UnknownSitting: there is no such sitting, or it is not recorded.
    """
    _check_released(store, key, "replays")
    return unpack_replay(store.replay(key))


def released_deal_set(store: Store, key: SittingKey) -> Match:
    """The match of a sitting, with its deal seed, once the match is complete; raises as :func:`released_replay`."""
    _check_released(store, key, "deals")
    return _match(store, key)


def released_logs(store: Store, key: SittingKey) -> tuple[BotReport, ...]:
    """The logs and faults of a sitting's bots in the match's order, once it is complete; raises as
    :func:`released_replay`."""
    _check_released(store, key, "logs")
    names = {entrant.index: entrant.name for entrant in store.entrants(key.tournament)}
    logs = {log.entrant: log for log in store.logs(key)}
    faults = [fault for sitting, fault in store.faults(key.tournament) if sitting == key]
    return tuple(
        BotReport(
            entrant=entrant,
            name=names[entrant],
            ending=logs[entrant].ending if entrant in logs else None,
            log=logs[entrant].log if entrant in logs else "",
            faults=tuple(fault for fault in faults if fault.entrant == entrant),
        )
        for entrant in _match(store, key).entrants
    )


def _match(store: Store, key: SittingKey) -> Match:
    return next(match for match in store.matches(key.tournament) if match.index == key.match)


def _check_released(store: Store, key: SittingKey, what: str) -> None:
    if not store.deal_set_recorded(key.tournament, key.match):
        raise NotReleased(
            f"match {key.tournament}/{key.match} is still being played; its {what} are shown after its last sitting"
        )

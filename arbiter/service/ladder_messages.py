"""A ladder's leaderboard, histories and matches as messages of the contract."""

from __future__ import annotations

from collections.abc import Sequence

from arbiter.api.ladder.v1 import ladder_pb2 as pb
from arbiter.store import Entrant, Tournament
from arbiter.tournament.leaderboard import HistoryPoint, Leaderboard, Place, Upcoming, interval_of


def entry_message(place: Place) -> pb.LadderEntry:
    """A version's place."""
    low, high = place.interval
    best, worst = place.rating.ranks or (None, None)
    return pb.LadderEntry(
        name=place.entrant.name,
        owner=place.owner,
        active=place.active,
        rating=place.rating.value,
        rating_low=low,
        rating_high=high,
        rank=place.rating.rank,
        best_rank=best,
        worst_rank=worst,
        matches=place.matches,
        hands=place.rating.hands,
    )


def leaderboard_message(found: Leaderboard) -> pb.GetLeaderboardResponse:
    """A leaderboard."""
    return pb.GetLeaderboardResponse(
        ladder=found.tournament.id, rules=found.rules_name, entries=map(entry_message, found.places)
    )


def history_message(ladder: Tournament, entrant: Entrant, points: Sequence[HistoryPoint]) -> pb.GetHistoryResponse:
    """A history."""
    return pb.GetHistoryResponse(ladder=ladder.id, name=entrant.name, points=map(_point, points))


def upcoming_message(ladder: Tournament, matches: Sequence[Upcoming]) -> pb.ListUpcomingResponse:
    """What is played next."""
    return pb.ListUpcomingResponse(
        ladder=ladder.id,
        matches=[
            pb.UpcomingMatch(
                match=each.match, names=each.names, sittings_recorded=each.recorded, sittings=each.sittings
            )
            for each in matches
        ],
    )


def _point(point: HistoryPoint) -> pb.RatingPoint:
    low, high = interval_of(point.rating)
    message = pb.RatingPoint(
        matches=point.matches,
        hands=point.rating.hands,
        rating=point.rating.value,
        rating_low=low,
        rating_high=high,
    )
    message.time.FromDatetime(point.time)
    return message

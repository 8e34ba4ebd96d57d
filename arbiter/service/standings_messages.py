"""A tournament's standings, crosstable and details as messages of the contract."""

from __future__ import annotations

from datetime import timedelta

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.rating import Estimate, Pairing
from arbiter.rating.ladder import INTERVAL
from arbiter.tournament import EntrantRow, TournamentDetails, TournamentReport


def standings_message(
    found: TournamentReport,
    tournament: pb.Tournament,
    *,
    crosstable: bool = False,
    details: TournamentDetails | None = None,
) -> pb.GetStandingsResponse:
    """Standings, with the crosstable and details if they are asked for.

    Args:
        found: what the results say.
        tournament: the tournament as it is now.
        crosstable: whether to tell who beats whom.
        details: what stands behind the points, to be told.
    """
    order = [row.standing.entrant for row in found.rows]
    return pb.GetStandingsResponse(
        tournament=tournament,
        standings=map(_standing, found.rows),
        lowest_wins=found.lowest_wins,
        format=found.spec.format.kind,
        stages=0 if found.stages is None else found.stages[1],
        sides=found.spec.sides is not None,
        crosstable=[
            _pairing(one, other, found.pairings[order[one], order[other]])
            for one in range(len(order))
            for other in range(one + 1, len(order))
            if crosstable and (order[one], order[other]) in found.pairings
        ],
        details=[] if details is None else [_details(details, entrant) for entrant in range(len(details.names))],
    )


def _standing(row: EntrantRow) -> pb.Standing:
    points, place, (best, worst) = row.standing.points, row.standing.place, row.standing.ranks or (0, 0)
    return pb.Standing(
        rank=row.rank,
        name=row.name,
        hands=row.standing.hands,
        boards=row.standing.boards,
        points_per_hand=None if points is None else points.value,
        standard_error=None if points is None else points.standard_error,
        half_width=None if points is None else points.half_width,
        mean_place=None if place is None else place.value,
        mean_place_half_width=None if place is None else place.half_width,
        best_rank=best,
        worst_rank=worst,
        rating=row.rating.value,
        rating_half_width=INTERVAL * row.rating.standard_error,
        rating_provisional=row.rating.provisional,
        score=None if row.score is None else float(row.score),
        stage_reached=0 if row.reached is None else row.reached + 1,
        faults=row.faults,
        forfeits=row.forfeits,
        voids=row.voids,
    )


def _pairing(one: int, other: int, found: Pairing) -> pb.Pairing:
    return pb.Pairing(
        one=one,
        other=other,
        boards=found.boards,
        difference=found.difference.value,
        standard_error=found.difference.standard_error,
        half_width=found.difference.half_width,
        superiority=found.superiority,
    )


def _details(found: TournamentDetails, entrant: int) -> pb.EntrantDetails:
    points, time = found.breakdown, found.thinking.get(entrant)
    seats = ((seat, _per_hand(of_seat[entrant])) for seat, of_seat in points.seats.items())
    directions = ((name, _per_hand(of_direction[entrant])) for name, of_direction in points.directions.items())
    message = pb.EntrantDetails(
        name=found.names[entrant],
        moons=_per_hand(points.moons[entrant]),
        answers=0 if time is None else time.answers,
        seats=[pb.SeatPoints(seat=seat, points=each) for seat, each in seats if each is not None],
        directions=[pb.DirectionPoints(direction=name, points=each) for name, each in directions if each is not None],
    )
    if time is not None:
        message.thinking_time.FromTimedelta(timedelta(seconds=time.seconds))
    return message


def _per_hand(found: Estimate | None) -> pb.PerHand | None:
    if found is None:
        return None
    return pb.PerHand(value=found.value, standard_error=found.standard_error, half_width=found.half_width)

"""What stands behind the standings, bot by bot: moons, thinking time, seats and pass directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arbiter.rating.breakdown import Breakdown, Tally, breakdown
from arbiter.rating.ratio import Estimate
from arbiter.store import Store, ThinkingTime


@dataclass(frozen=True, slots=True)
class TournamentDetails:
    """Of all entrants, partners of a side too, over complete matches."""

    names: tuple[str, ...]
    """By entrant's index."""
    breakdown: Breakdown
    thinking: dict[int, ThinkingTime]
    """By entrant's index, where it is known."""

    def to_list(self) -> list[dict[str, Any]]:
        """Plain data for ``--json``, by entrant."""
        points = self.breakdown
        return [
            {
                "name": name,
                "moons_per_hand": plain(points.moons[entrant]),
                "thinking_seconds": time.seconds if (time := self.thinking.get(entrant)) else None,
                "answers": time.answers if time else None,
                "seats": {str(seat): plain(of_seat[entrant]) for seat, of_seat in points.seats.items()},
                "directions": {name: plain(found[entrant]) for name, found in points.directions.items()},
            }
            for entrant, name in enumerate(self.names)
        ]


def details(store: Store, tournament_id: str) -> TournamentDetails:
    """Read what stands behind a tournament's results."""
    names = tuple(entrant.name for entrant in store.entrants(tournament_id))
    tallies = (
        Tally(row.match, row.board, row.entrant, row.seat, row.direction, row.hands, row.points, row.moons)
        for row in store.entrant_tallies(tournament_id)
    )
    return TournamentDetails(names, breakdown(len(names), tallies), store.thinking_times(tournament_id))


def plain(estimate: Estimate | None) -> dict[str, float | None] | None:
    """An estimate as JSON."""
    if estimate is None:
        return None
    return {"value": estimate.value, "standard_error": estimate.standard_error}

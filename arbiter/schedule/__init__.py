"""Which matches a tournament needs: pure functions from entrants, and later results, to what is played next.

``round_robin`` and ``gauntlet`` plan everything at once; ``swiss_stage`` and ``knockout_stage`` what follows the stages
that were played; ``ladder_match`` the next match of a ladder that never ends.
"""

from arbiter.schedule.errors import ScheduleError, UnbalancedError
from arbiter.schedule.gauntlet import gauntlet
from arbiter.schedule.knockout import KnockoutRecord, knockout_records, knockout_sizes, knockout_stage
from arbiter.schedule.ladder import Contender, ladder_match
from arbiter.schedule.results import MatchResult, Stage
from arbiter.schedule.round_robin import MAX_COMPLETE, round_robin
from arbiter.schedule.swiss import swiss_scores, swiss_stage

__all__ = [
    "MAX_COMPLETE",
    "Contender",
    "KnockoutRecord",
    "MatchResult",
    "ScheduleError",
    "Stage",
    "UnbalancedError",
    "gauntlet",
    "knockout_records",
    "knockout_sizes",
    "knockout_stage",
    "ladder_match",
    "round_robin",
    "swiss_scores",
    "swiss_stage",
]

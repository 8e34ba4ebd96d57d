"""Which matches a tournament needs: pure functions from entrants, and later results, to what is played next."""

from arbiter.schedule.errors import ScheduleError, UnbalancedError
from arbiter.schedule.round_robin import MAX_COMPLETE, round_robin

__all__ = ["MAX_COMPLETE", "ScheduleError", "UnbalancedError", "round_robin"]

"""Errors of the schedule."""

from __future__ import annotations

from arbiter.errors import ArbiterError, UsageError


class ScheduleError(UsageError):
    """No such schedule exists or none was found; the message names the numbers asked for."""


class UnbalancedError(ArbiterError):
    """A list of matches that treats entrants unequally where a balanced one was promised."""

"""What the store refuses, as errors.

::

    UsageError
    ├── UnknownTournament     no tournament has that id, or a prefix fits none or several
    ├── UnknownSitting        no such sitting, or no such attempt at it, or it has no result yet
    ├── UnknownToken          no token has that id
    ├── UnknownVersion        no such bot or version, or none that is active
    ├── UnknownBuild          a version has no such build
    ├── QuotaExceeded         a submission beyond what its sender may make
    ├── EntryRefused          a bot can't enter a tournament, or leave it
    ├── NameTaken             a bot name or a request id that stands for something else already
    ├── InvalidPlan           a tournament whose parts do not fit together
    ├── InvalidResult         a reported result that contradicts itself or its match
    └── TransitionRefused     a change of a tournament's state that its life cycle does not have
    InfrastructureError
    ├── LeadershipLost        what a process wants to write is another's to write by now
    └── StoreError            the database can't be opened or used
        └── StoreUnavailable  it can't be reached or is locked now; trying again may help
"""

from __future__ import annotations

from arbiter.errors import InfrastructureError, UsageError


class StoreError(InfrastructureError):
    """The database can't be opened or used; the message says what to do about it."""


class StoreUnavailable(StoreError):
    """The database can't be reached, or another program holds it, now: it is worth trying again.

    Nothing of the transaction is in the database, but for one case: when the connection breaks while it commits, all
    of it may be. Every change of the store may therefore be asked for twice.
    """


class LeadershipLost(InfrastructureError):
    """A process wants to write what only the leader may, and another leads by now; nothing is written."""


class UnknownTournament(UsageError):
    """No tournament has this id, or a prefix fits none or more than one."""


class UnknownSitting(UsageError):
    """There is no such sitting, no such attempt at it, or nothing was recorded for it yet."""


class UnknownToken(UsageError):
    """No token has this id."""


class UnknownVersion(UsageError):
    """There is no such bot or version, or none of it is active."""


class UnknownBuild(UsageError):
    """A version has no build of this number, or none at all."""


class QuotaExceeded(UsageError):
    """A submission is beyond what its sender may make."""


class EntryRefused(UsageError):
    """A bot can't enter a tournament, or has not entered it."""


class NameTaken(UsageError):
    """A bot's name is another contestant's, or a request id was used for other content."""


class InvalidPlan(UsageError):
    """The parts of a new tournament do not fit together."""


class InvalidResult(UsageError):
    """A reported result contradicts itself or the match it belongs to."""


class TransitionRefused(UsageError):
    """A tournament can't go from its present state to the wanted one."""

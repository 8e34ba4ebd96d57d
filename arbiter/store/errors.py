"""What the store refuses, as errors.

::

    UsageError
    ├── UnknownTournament     no tournament has that id, or a prefix fits none or several
    ├── UnknownSitting        no such sitting, or no such attempt at it, or it has no result yet
    ├── UnknownToken          no token has that id
    ├── UnknownVersion        no such bot or version, or none that is active
    ├── SubmissionRefused     a submission that its sender may not make
    ├── InvalidPlan           a tournament whose parts do not fit together
    ├── InvalidResult         a reported result that contradicts itself or its match
    └── TransitionRefused     a change of a tournament's state that its life cycle does not have
    InfrastructureError
    └── StoreError            the database can't be opened or used
"""

from __future__ import annotations

from arbiter.errors import InfrastructureError, UsageError


class StoreError(InfrastructureError):
    """The database can't be opened or used; the message says what to do about it."""


class UnknownTournament(UsageError):
    """No tournament has this id, or a prefix fits none or more than one."""


class UnknownSitting(UsageError):
    """There is no such sitting, no such attempt at it, or nothing was recorded for it yet."""


class UnknownToken(UsageError):
    """No token has this id."""


class UnknownVersion(UsageError):
    """There is no such bot or version, or none of it is active."""


class SubmissionRefused(UsageError):
    """A submission takes another's name, repeats a request id with other content, or is above its sender's quota."""


class InvalidPlan(UsageError):
    """The parts of a new tournament do not fit together."""


class InvalidResult(UsageError):
    """A reported result contradicts itself or the match it belongs to."""


class TransitionRefused(UsageError):
    """A tournament can't go from its present state to the wanted one."""

"""The project's errors, as one small tree.

::

    ArbiterError                 everything below; ``exit_code`` is the process exit status it maps to
    ├── UsageError               exit 2: the caller asked for something that can't be done as asked
    └── InfrastructureError      exit 4: the machine or a service that is needed is not there

Messages are one line each: what was wrong, where, and what would be right.
Areas derive their own errors from these two, next to the code that raises them.
"""

from __future__ import annotations


class ArbiterError(Exception):
    """Root of all errors that the project raises on purpose."""

    exit_code: int = 1


class UsageError(ArbiterError):
    """The input is wrong; the message says what would be right."""

    exit_code = 2


class InfrastructureError(ArbiterError):
    """Something outside the game is missing or broken; no contestant is to blame."""

    exit_code = 4

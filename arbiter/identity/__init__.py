"""Who calls, and what they may do: tokens are made, shown once, and known again by a digest alone."""

from arbiter.identity.tokens import (
    DEFAULT_LIFETIME,
    MAX_LIFETIME,
    Forbidden,
    Unauthenticated,
    authenticate,
    issue_token,
    require,
)

__all__ = [
    "DEFAULT_LIFETIME",
    "MAX_LIFETIME",
    "Forbidden",
    "Unauthenticated",
    "authenticate",
    "issue_token",
    "require",
]

"""Tokens: ``arb_ID_SECRET``, of which the secret is kept nowhere but with its holder.

The secret has 256 random bits, so a plain SHA-256 of it is enough to know it by: there is nothing to guess, and a slow
hash would only slow down every call.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from arbiter.errors import UsageError
from arbiter.store import Accounts, Scope, Token, UnknownToken

SECRET_BYTES: Final = 32
DEFAULT_LIFETIME: Final = timedelta(days=180)
MAX_LIFETIME: Final = timedelta(days=3650)

_FORM: Final = re.compile(r"arb_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_OWNER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")

_INCLUDES: Final[Mapping[Scope, frozenset[Scope]]] = {
    Scope.HOST: frozenset(Scope),
    Scope.CONTESTANT: frozenset({Scope.CONTESTANT, Scope.SPECTATOR}),
    Scope.WORKER: frozenset({Scope.WORKER}),
    Scope.SPECTATOR: frozenset({Scope.SPECTATOR}),
}
"""What else a token of a scope is good for."""


class Unauthenticated(UsageError):
    """No token, or none that is known and still good. It does not say which, for that would help to guess."""


class Forbidden(UsageError):
    """The token is good, but not for this."""


def issue_token(
    accounts: Accounts, owner: str, scope: Scope, now: datetime, lifetime: timedelta = DEFAULT_LIFETIME
) -> tuple[Token, str]:
    """Make a token and keep its digest; returns what is kept, and the text that its holder needs, shown only here.

    Raises:
        UsageError: the owner's name or the lifetime is out of its range.
    """
    if not _OWNER.fullmatch(owner):
        raise UsageError(f"owner {owner!r}: write letters, digits, '_', '.', '@' and '-', a letter or digit first")
    if not timedelta(0) < lifetime <= MAX_LIFETIME:
        raise UsageError(f"a token lasts for at least a moment and at most {MAX_LIFETIME.days} days, not {lifetime}")
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(SECRET_BYTES)
    token = Token(token_id, owner, scope, _digest(secret), created_at=now, expires_at=now + lifetime)
    accounts.add_token(token)
    return token, f"arb_{token_id}_{secret}"


def authenticate(accounts: Accounts, text: str, now: datetime) -> Token:
    """The token that a caller shows.

    Raises:
        Unauthenticated: it has no such form, is unknown, expired or revoked.
    """
    found = _FORM.fullmatch(text)
    try:
        token = accounts.token(found[1]) if found else None
    except UnknownToken:
        token = None
    # Compared even when there is nothing to compare with, so that the time taken tells nothing.
    known = hmac.compare_digest(_digest(found[2] if found else ""), token.digest if token else _digest("nobody"))
    if token is None or not known or token.revoked_at is not None or token.expires_at <= now:
        raise Unauthenticated("no valid token: set ARBITER_API_TOKEN to one that the host made, not expired or revoked")
    return token


def require(token: Token, scope: Scope) -> None:
    """Return when a token is good for a scope.

    Raises:
        Forbidden: it is not.
    """
    if scope not in _INCLUDES[token.scope]:
        raise Forbidden(f"this needs a token with scope {scope.value}; token {token.id} has scope {token.scope.value}")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

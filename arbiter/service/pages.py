"""Pages of long lists: a token says where the next one begins (https://google.aip.dev/158)."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from arbiter.errors import UsageError

PAGE: Final = 100
"""Items of a page when nobody says how many."""

MAX_PAGE: Final = 1000


def page_size(asked: int) -> int:
    """How many items a page has, when its caller asked for so many, 0 for the usual number."""
    return min(asked or PAGE, MAX_PAGE)


def page_token(query: str, name: str, number: int = 0) -> str:
    """The token of the page of a query that begins behind this name and number."""
    return base64.urlsafe_b64encode("\n".join((query, name, str(number))).encode()).decode()


def read_page_token(token: str, query: str) -> tuple[str, int]:
    """The name and number in a token; those before all others for none.

    Raises:
        UsageError: it is none that was given out for this query.
    """
    if not token:
        return "", 0
    try:
        asked, name, number = base64.urlsafe_b64decode(token.encode()).decode().split("\n")
        found = name, int(number)
    except (ValueError, binascii.Error) as error:
        raise no_such_page(token) from error
    if asked != query or not 0 <= found[1] < 2**31:
        raise no_such_page(token)
    return found


def no_such_page(token: str) -> UsageError:
    """The refusal of a token that was not given out for what is asked for."""
    return UsageError(
        f"page_token {token!r} is none of this list; use a next_page_token as it was given, and ask for the same"
    )

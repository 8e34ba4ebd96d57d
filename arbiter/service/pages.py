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


def page_token(name: str, number: int) -> str:
    """The token of the page that begins behind this name and number."""
    return base64.urlsafe_b64encode(f"{name}/{number}".encode()).decode()


def read_page_token(token: str) -> tuple[str, int]:
    """The name and number in a token; those before all others for none.

    Raises:
        UsageError: it is none that was given out.
    """
    if not token:
        return "", 0
    refusal = f"page_token {token!r} is none of this service's; use a next_page_token as it was given"
    try:
        name, _, number = base64.urlsafe_b64decode(token.encode()).decode().rpartition("/")
        found = name, int(number)
    except (ValueError, binascii.Error) as error:
        raise UsageError(refusal) from error
    if not 0 <= found[1] < 2**31:
        raise UsageError(refusal)
    return found

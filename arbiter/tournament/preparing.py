"""What a request needs before its transaction: all that would hold up everybody else who writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from arbiter.errors import UsageError
from arbiter.store import Request, Store

T = TypeVar("T")


def prepare(store: Store, request: Request, work: Callable[[], T]) -> T | None:
    """Do what has to be done before a request is, such as to fetch contents or to plan; None when it was done before.

    What that raises is raised here, unless the same request, sent twice at once, was quicker.
    """
    if store.requests.done(request):
        return None
    try:
        return work()
    except UsageError:
        if store.requests.done(request):
            return None
        raise

"""Who may see a replay, and when: nothing of a deal set leaves before its last sitting is recorded."""

from __future__ import annotations

from arbiter.errors import UsageError
from arbiter.match import Replay, read_replay
from arbiter.store import SittingKey, Store


class NotReleased(UsageError):
    """The deal set is still being played."""


def released_replay(store: Store, key: SittingKey) -> Replay:
    """The replay of a sitting whose match is complete.

    Raises:
        NotReleased: other sittings of the match are still to be played.
        UnknownSitting: there is no such sitting, or it is not recorded.
    """
    if not store.match_recorded(key.tournament, key.match):
        raise NotReleased(
            f"match {key.tournament}/{key.match} is still being played; its replays are shown after its last sitting"
        )
    return read_replay(store.replay(key))

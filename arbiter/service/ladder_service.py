"""``LadderService``: what contestants and spectators ask of the ladder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from arbiter.api.ladder.v1 import ladder_pb2 as pb
from arbiter.api.ladder.v1 import ladder_pb2_grpc
from arbiter.service.calls import Context, caller
from arbiter.service.heavy import HeavyWork
from arbiter.service.ladder_messages import entry_message, history_message, leaderboard_message, upcoming_message
from arbiter.store import Scope, Store
from arbiter.tournament.ladder_hosting import LadderHosting
from arbiter.tournament.leaderboard import history, leaderboard, upcoming


class LadderServicer(ladder_pb2_grpc.LadderServiceServicer):
    """Answers callers; the database is used in threads.

    Args:
        store: plans and results.
        hosting: lets versions come and go.
        entered: called on the event loop when there may be something to play.
        heavy: does what takes long.
    """

    def __init__(self, store: Store, hosting: LadderHosting, entered: Callable[[], None], heavy: HeavyWork) -> None:
        self._store: Final = store
        self._hosting: Final = hosting
        self._entered: Final = entered
        self._heavy: Final = heavy

    async def EnterLadder(self, request: pb.EnterLadderRequest, context: Context) -> pb.EnterLadderResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        ladder, entrant = await asyncio.to_thread(
            self._hosting.enter, token, request.version, request.ladder, request.request_id
        )
        self._entered()
        found = await self._heavy.run(leaderboard, self._store, ladder.id)
        place = next(place for place in found.places if place.entrant.index == entrant.index)
        return pb.EnterLadderResponse(ladder=ladder.id, entry=entry_message(place))

    async def LeaveLadder(self, request: pb.LeaveLadderRequest, context: Context) -> pb.LeaveLadderResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        ladder, _ = await asyncio.to_thread(
            self._hosting.leave, token, request.version, request.ladder, request.request_id
        )
        return pb.LeaveLadderResponse(ladder=ladder.id)

    async def GetLeaderboard(self, request: pb.GetLeaderboardRequest, context: Context) -> pb.GetLeaderboardResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        return leaderboard_message(await self._heavy.run(leaderboard, self._store, request.ladder))

    async def GetHistory(self, request: pb.GetHistoryRequest, context: Context) -> pb.GetHistoryResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        found = await self._heavy.run(history, self._store, request.version, request.ladder)
        return history_message(*found)

    async def ListUpcoming(self, request: pb.ListUpcomingRequest, context: Context) -> pb.ListUpcomingResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        found = await self._heavy.run(upcoming, self._store, request.version, request.ladder)
        return upcoming_message(*found)

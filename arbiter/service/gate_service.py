"""``GateService``: what contestants' pipelines ask of gates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.api.gate.v1 import gate_pb2_grpc
from arbiter.api.tournament.v1 import tournament_pb2
from arbiter.service.calls import Context, caller
from arbiter.service.gate_messages import gate_message, read_form, read_mode, read_unit, report_message
from arbiter.service.heavy import HeavyWork
from arbiter.store import FINISHED, Scope, Store, Token, TournamentState
from arbiter.tournament.gate import GateJudge
from arbiter.tournament.gate_hosting import GateHosting, GateOrder

LOOK_AGAIN: Final = 0.5
"""Seconds between two looks at a gate that somebody follows."""

BLOCK_BOARDS: Final = 24
MAX_BOARDS: Final = 1200
RATE: Final = 0.05
"""What holds where a request is silent."""

_AT_REST: Final = frozenset(
    tournament_pb2.TournamentState.Value(f"TOURNAMENT_STATE_{state.name}")
    for state in (*FINISHED, TournamentState.PAUSED)
)


class GateServicer(gate_pb2_grpc.GateServiceServicer):
    """Answers callers; the database is used in threads.

    Args:
        store: plans and results.
        hosting: makes and cancels gates.
        started: called on the event loop when there may be something to play.
        heavy: does what takes long.
    """

    def __init__(self, store: Store, hosting: GateHosting, started: Callable[[], None], heavy: HeavyWork) -> None:
        self._store: Final = store
        self._hosting: Final = hosting
        self._started: Final = started
        self._heavy: Final = heavy

    async def CreateGate(self, request: pb.CreateGateRequest, context: Context) -> pb.CreateGateResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        made = await self._heavy.run(self._hosting.create, token, order_of(request), request.request_id)
        self._started()
        return pb.CreateGateResponse(gate=await self._heavy.run(self._look, token, made.id))

    async def GetGate(self, request: pb.GetGateRequest, context: Context) -> pb.GetGateResponse:
        """See the contract."""
        token = caller(Scope.SPECTATOR)
        return pb.GetGateResponse(gate=await self._heavy.run(self._look, token, request.gate))

    async def WatchGate(self, request: pb.WatchGateRequest, context: Context) -> AsyncIterator[pb.WatchGateResponse]:
        """See the contract."""
        token = caller(Scope.SPECTATOR)
        await asyncio.to_thread(self._hosting.owner, request.gate)  # refuses what is no gate
        judge = await self._heavy.run(GateJudge.of, self._store, request.gate)
        seen: pb.Gate | None = None
        while True:
            found = await self._heavy.run(self._message, token, request.gate, judge)
            if found != seen:
                seen = found
                yield pb.WatchGateResponse(gate=found)
            if found.state in _AT_REST:
                return
            await asyncio.sleep(LOOK_AGAIN)

    async def CancelGate(self, request: pb.CancelGateRequest, context: Context) -> pb.CancelGateResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        await asyncio.to_thread(self._hosting.cancel, token, request.gate, request.request_id)
        return pb.CancelGateResponse(gate=await self._heavy.run(self._look, token, request.gate))

    def _look(self, token: Token, gate: str) -> pb.Gate:
        self._hosting.owner(gate)
        return self._message(token, gate, GateJudge.of(self._store, gate))

    def _message(self, token: Token, gate: str, judge: GateJudge) -> pb.Gate:
        tournament = self._store.tournament(gate)  # before the results: one that is over has them all
        owner = self._hosting.owner(gate)
        with_log = token.scope is Scope.HOST or token.owner == owner
        return gate_message(tournament, owner, report_message(judge.report(), with_log=with_log))


def order_of(request: pb.CreateGateRequest) -> GateOrder:
    """What a request asks for, with what holds where it is silent; raises `UsageError` for values nobody knows."""
    terms, asked = request.terms, request.seatings
    match: dict[str, Any] = {
        "format": request.format or "hands",
        "boards": request.block_boards or BLOCK_BOARDS,
        "seatings": int(asked) if asked.isdecimal() and len(asked) < 10 else asked or "rotations",
    }
    return GateOrder(
        candidate=request.candidate,
        baseline=request.baseline,
        opponents=tuple(request.opponents),
        rules=request.rules or "black_lady",
        match=match,
        max_boards=request.max_boards or MAX_BOARDS,
        mode=read_mode(terms.mode),
        form=read_form(terms.form),
        unit=read_unit(terms.unit),
        alpha=terms.alpha or RATE,
        beta=terms.beta or RATE,
        delta0=terms.delta0 if terms.HasField("delta0") else None,
        delta1=terms.delta1 if terms.HasField("delta1") else None,
    )

"""``TournamentService``: what hosts, contestants and spectators ask of tournaments."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from typing import BinaryIO, Final, cast

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.api.tournament.v1 import tournament_pb2_grpc
from arbiter.match import write_replay
from arbiter.service.calls import Context, caller
from arbiter.service.heavy import HeavyWork
from arbiter.service.pages import no_such_page, page_size, page_token, read_page_token
from arbiter.service.standings_messages import standings_message
from arbiter.store import FINISHED, Scope, SittingKey, Store, Token, Tournament, TournamentState, TransitionRefused
from arbiter.tournament import TournamentSpec, details, report
from arbiter.tournament.drafts import left_out_of, listed_in
from arbiter.tournament.export import write_export
from arbiter.tournament.hosting import Hosting
from arbiter.tournament.replays import BotReport, released_logs, released_replay

LOOK_AGAIN: Final = 0.5
"""Seconds between two looks at a tournament that somebody follows."""

CHUNK: Final = 256 * 1024


class TournamentServicer(tournament_pb2_grpc.TournamentServiceServicer):
    """Answers callers; the database is used in threads.

    Args:
        store: plans and results.
        hosting: makes, starts, pauses and cancels tournaments.
        started: called on the event loop when there may be something to play.
        heavy: does what takes long.
    """

    def __init__(self, store: Store, hosting: Hosting, started: Callable[[], None], heavy: HeavyWork) -> None:
        self._store: Final = store
        self._hosting: Final = hosting
        self._started: Final = started
        self._heavy: Final = heavy

    async def CreateTournament(
        self, request: pb.CreateTournamentRequest, context: Context
    ) -> pb.CreateTournamentResponse:
        """See the contract."""
        token = caller(Scope.HOST)
        made = await self._heavy.run(self._hosting.create, token, request.definition, request.request_id)
        return pb.CreateTournamentResponse(tournament=await asyncio.to_thread(self._message, made))

    async def EnterTournament(self, request: pb.EnterTournamentRequest, context: Context) -> pb.EnterTournamentResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        tournament, number = await self._id(request.tournament), request.number or None
        found, name = await asyncio.to_thread(
            self._hosting.enter, token, tournament, request.bot, number, request.side, request.request_id
        )
        return pb.EnterTournamentResponse(tournament=await asyncio.to_thread(self._message, found), entered=name)

    async def WithdrawFromTournament(
        self, request: pb.WithdrawFromTournamentRequest, context: Context
    ) -> pb.WithdrawFromTournamentResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        left = await asyncio.to_thread(
            self._hosting.withdraw, token, await self._id(request.tournament), request.bot, request.request_id
        )
        return pb.WithdrawFromTournamentResponse(tournament=await asyncio.to_thread(self._message, left))

    async def ScheduleTournament(
        self, request: pb.ScheduleTournamentRequest, context: Context
    ) -> pb.ScheduleTournamentResponse:
        """See the contract."""
        token = caller(Scope.HOST)
        closed = await self._heavy.run(
            self._hosting.schedule, token, await self._id(request.tournament), request.request_id
        )
        return pb.ScheduleTournamentResponse(tournament=await asyncio.to_thread(self._message, closed))

    async def StartTournament(self, request: pb.StartTournamentRequest, context: Context) -> pb.StartTournamentResponse:
        """See the contract."""
        token = caller(Scope.HOST)
        started = await self._heavy.run(
            self._hosting.start, token, await self._id(request.tournament), request.request_id
        )
        self._started()
        return pb.StartTournamentResponse(tournament=await asyncio.to_thread(self._message, started))

    async def PauseTournament(self, request: pb.PauseTournamentRequest, context: Context) -> pb.PauseTournamentResponse:
        """See the contract."""
        token = caller(Scope.HOST)
        paused = await asyncio.to_thread(
            self._hosting.pause, token, await self._id(request.tournament), request.request_id
        )
        return pb.PauseTournamentResponse(tournament=await asyncio.to_thread(self._message, paused))

    async def ResumeTournament(
        self, request: pb.ResumeTournamentRequest, context: Context
    ) -> pb.ResumeTournamentResponse:
        """See the contract."""
        token = caller(Scope.HOST)
        resumed = await asyncio.to_thread(
            self._hosting.resume, token, await self._id(request.tournament), request.request_id
        )
        self._started()
        return pb.ResumeTournamentResponse(tournament=await asyncio.to_thread(self._message, resumed))

    async def CancelTournament(
        self, request: pb.CancelTournamentRequest, context: Context
    ) -> pb.CancelTournamentResponse:
        """See the contract."""
        token = caller(Scope.HOST)
        cancelled = await asyncio.to_thread(
            self._hosting.cancel, token, await self._id(request.tournament), request.request_id
        )
        return pb.CancelTournamentResponse(tournament=await asyncio.to_thread(self._message, cancelled))

    async def GetTournament(self, request: pb.GetTournamentRequest, context: Context) -> pb.GetTournamentResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        tournament = await self._id(request.tournament)
        return pb.GetTournamentResponse(tournament=await asyncio.to_thread(self._look, tournament))

    async def ListTournaments(self, request: pb.ListTournamentsRequest, context: Context) -> pb.ListTournamentsResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        size = page_size(request.page_size)
        last, _ = read_page_token(request.page_token, "tournaments")
        found = await asyncio.to_thread(self._store.tournaments)
        start = next((place for place, each in enumerate(found, 1) if each.id == last), 0)
        if last and not start:
            raise no_such_page(request.page_token)
        page = found[start : start + size]
        messages = [await asyncio.to_thread(self._message, each) for each in page]
        more = page_token("tournaments", page[-1].id) if start + size < len(found) else ""
        return pb.ListTournamentsResponse(tournaments=messages, next_page_token=more)

    async def WatchTournament(
        self, request: pb.WatchTournamentRequest, context: Context
    ) -> AsyncIterator[pb.WatchTournamentResponse]:
        """See the contract."""
        caller(Scope.SPECTATOR)
        seen: pb.Tournament | None = None
        tournament = await self._id(request.tournament)
        while True:
            found = await asyncio.to_thread(self._store.tournament, tournament)
            message = await asyncio.to_thread(self._message, found)
            if message != seen:
                seen = message
                yield pb.WatchTournamentResponse(tournament=message)
            if found.state in FINISHED or found.state is TournamentState.PAUSED:
                return
            await asyncio.sleep(LOOK_AGAIN)

    async def GetStandings(self, request: pb.GetStandingsRequest, context: Context) -> pb.GetStandingsResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        tournament = await self._id(request.tournament)
        if (await asyncio.to_thread(self._store.tournament, tournament)).state is TournamentState.DRAFT:
            raise TransitionRefused(f"tournament {tournament!r} is a draft; it has standings once it is scheduled")
        found = await self._heavy.run(report, self._store, tournament)
        behind = await self._heavy.run(details, self._store, tournament) if request.details else None
        message = await asyncio.to_thread(self._message, found.tournament)
        return standings_message(found, message, crosstable=request.crosstable, details=behind)

    async def ExportTournament(
        self, request: pb.ExportTournamentRequest, context: Context
    ) -> AsyncIterator[pb.ExportTournamentResponse]:
        """See the contract."""
        caller(Scope.SPECTATOR)
        tournament = await self._id(request.tournament)
        with tempfile.TemporaryFile() as file:
            archive = cast("BinaryIO", file)
            await self._heavy.run(write_export, self._store, tournament, archive)
            archive.seek(0)
            while chunk := await asyncio.to_thread(archive.read, CHUNK):
                yield pb.ExportTournamentResponse(chunk=chunk)

    async def GetReplay(self, request: pb.GetReplayRequest, context: Context) -> AsyncIterator[pb.GetReplayResponse]:
        """See the contract."""
        caller(Scope.SPECTATOR)
        key = await asyncio.to_thread(self._store.find_sitting, request.sitting)
        text = await self._heavy.run(lambda: write_replay(released_replay(self._store, key)))
        for start in range(0, len(text), CHUNK):
            yield pb.GetReplayResponse(chunk=text[start : start + CHUNK])

    async def GetSittingLogs(self, request: pb.GetSittingLogsRequest, context: Context) -> pb.GetSittingLogsResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        key = await asyncio.to_thread(self._store.find_sitting, request.sitting)
        logs = await asyncio.to_thread(self._own_logs, token, key)
        return pb.GetSittingLogsResponse(logs=map(_log, logs))

    def _own_logs(self, token: Token, key: SittingKey) -> list[BotReport]:
        owners = {entrant.index: entrant.manifest.get("owner") for entrant in self._store.entrants(key.tournament)}
        reports = released_logs(self._store, key)
        return [each for each in reports if token.scope is Scope.HOST or owners[each.entrant] == token.owner]

    async def _id(self, prefix: str) -> str:
        """The id of the tournament that a caller means."""
        return (await asyncio.to_thread(self._store.find_tournament, prefix)).id

    def _look(self, tournament: str) -> pb.Tournament:
        return self._message(self._store.tournament(tournament))

    def _names(self, tournament: Tournament) -> list[str]:
        if tournament.state is TournamentState.DRAFT:
            listed = [str(table.get("name") or table["bot"]) for table in listed_in(tournament)]
            entries = self._store.entries.entries(tournament.id)
            return listed + [f"{entry.bot}@{entry.version}" for entry in entries]
        return [entrant.name for entrant in self._store.entrants(tournament.id)]

    def _message(self, tournament: Tournament) -> pb.Tournament:
        progress = self._store.progress(tournament.id)
        message = pb.Tournament(
            id=tournament.id,
            name=tournament.name,
            state=pb.TournamentState.Value(f"TOURNAMENT_STATE_{tournament.state.name}"),
            failure=tournament.failure or "",
            rules=TournamentSpec.from_dict(tournament.spec).rules_name,
            entrants=self._names(tournament),
            sittings=progress.total,
            sittings_recorded=progress.recorded,
            hands=progress.hands,
        )
        message.create_time.FromDatetime(tournament.created_at)
        message.left_out.extend(pb.LeftOut(name=each.name, reason=each.reason) for each in left_out_of(tournament))
        if "entry" in tournament.spec:
            message.entry_terms.CopyFrom(pb.EntryTerms(**cast("dict[str, int]", tournament.spec["entry"])))
        return message


def _log(found: BotReport) -> pb.BotLog:
    return pb.BotLog(
        entrant=found.name,
        ending=found.ending or "",
        log=found.log,
        faults=[f"{fault.code}: {fault.detail}" for fault in found.faults],
    )

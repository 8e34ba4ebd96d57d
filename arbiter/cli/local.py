"""Everything on one machine: Redis, arbiter and workers around one tournament, from start or resumption to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from arbiter.cage import Cage, CageSettings, Launch, choose_cage, load_manifest
from arbiter.cli.progress import ProgressView
from arbiter.cli.worker_processes import Workplace, worker_commands
from arbiter.errors import InfrastructureError, UsageError
from arbiter.links import BotHost, LinkLost, ProcessLink
from arbiter.match.routes import CPU_CLASSES, SERVICE
from arbiter.packages import FileVersions, Versions
from arbiter.packages.marking import first_word
from arbiter.service import WorkerServer, WorkerTokens
from arbiter.store import Entrant, LeadershipLost, Store, StoreUnavailable, TournamentState
from arbiter.supervisor.keeper import Keeper, Patience
from arbiter.supervisor.redis import EmbeddedRedis, check_redis
from arbiter.supervisor.rundir import RunDirectory, is_locked, lock_file
from arbiter.tournament import CelerySender, Coordinator, Desk, Lead, SpecError
from arbiter.tournament.leading import matter_of

log = logging.getLogger(__name__)

STOP_GRACE: Final = 1.0
"""Seconds that a worker has to give its sitting back when asked. Ending it sooner loses nothing: it is played again."""

STARTS_AT_ONCE: Final = 8
"""Bots that are started side by side when all are tried out."""


_SERVICE: Final = ".service"
"""What the lock of a service is called among those of tournaments, none of which begins with a dot."""

BOTS_URL: Final = "ARBITER_BOTS_URL"


def bots_of(store: Store, data: Path) -> Versions:
    """The bots' fixed versions: in a data folder, or in the object store that ``ARBITER_BOTS_URL`` names.

    Raises:
        InfrastructureError: what the object store needs is not installed, or it can't be reached.
        UsageError: the URL names none, or what is there is another database's.
    """
    found = _bots_in(data)
    found.claim(store.identity())
    return found


def _bots_in(data: Path) -> Versions:
    files, url = FileVersions(data / "bots"), os.environ.get(BOTS_URL)
    if not url:
        return files
    if "://" not in url:
        raise UsageError(f"{BOTS_URL} is {url!r}; write a URL such as s3://bucket/bots")
    try:
        from arbiter.packages.objects import ObjectVersions

        return ObjectVersions(url, files, data / "staging")
    except ImportError as error:
        raise InfrastructureError(f"{BOTS_URL}: {error}; install the extra 'objects', and for s3:// 's3'") from error
    except ValueError as error:
        raise UsageError(f"{BOTS_URL} is {url!r}: {error}; write a URL such as s3://bucket/bots") from error


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How to run on this machine."""

    data: Path
    redis_url: str | None
    workers: int
    unsafe_processes: bool

    @property
    def cage(self) -> Cage:
        """The cage that bots are put into."""
        return choose_cage(self.unsafe_processes, [self.data], CageSettings.from_environment())


async def check_bots(entrants: list[Entrant], options: LocalOptions, bots: Versions, patience: Sequence[float]) -> None:
    """Start every entrant's version once, so that one that does not start is named before the first card.

    Args:
        entrants: of whom.
        options: how bots are run.
        bots: their versions.
        patience: by entrant, its start-up allowance in seconds; of entrants with one version the shortest counts.

    Raises:
        SpecError: a bot does not start; says what was seen.
        InfrastructureError: the cage does not work on this machine.
    """
    cage = options.cage
    await cage.check()
    tried: dict[str, tuple[Entrant, float]] = {}
    for entrant, seconds in zip(entrants, patience, strict=True):
        first, shortest = tried.get(entrant.digest, (entrant, seconds))
        tried[entrant.digest] = first, min(shortest, seconds)
    with RunDirectory() as run:
        _open_to_bots(run, options)
        host = BotHost(run)
        links: list[ProcessLink] = []
        for entrant, _ in tried.values():
            folder = bots.open(entrant.digest)
            connection = host.add(f"bot{entrant.index}")
            launch = Launch(folder, load_manifest(folder), connection.socket, {"ARBITER_TOKEN": connection.token})
            links.append(ProcessLink(cage, launch, connection))
        # As many as a table or two start at once in a sitting: a hundred would take one another's allowance.
        turn = asyncio.Semaphore(STARTS_AT_ONCE)
        async with host:
            outcomes = await asyncio.gather(
                *(_start_once(link, seconds, turn) for link, (_, seconds) in zip(links, tried.values(), strict=True))
            )
    for (entrant, _), lost in zip(tried.values(), outcomes, strict=True):
        if lost is not None:
            raise SpecError(
                f"entrant {entrant.name!r} does not start: {'; '.join(filter(None, (lost.detail, lost.said)))};"
                " try it with: arbiter bot check DIR"
            )


def _open_to_bots(run: Path, options: LocalOptions) -> None:
    """Without a cage, bots of a service of root are other users, who have to pass to their sockets."""
    if options.unsafe_processes:
        run.chmod(0o711)


async def _start_once(link: ProcessLink, patience: float, turn: asyncio.Semaphore) -> LinkLost | None:
    """Start a bot and end it; returns what kept it from greeting."""
    async with turn:
        try:
            await link.open(patience)
        except LinkLost as lost:
            return lost
        finally:
            await link.close(0.0)
    return None


class RunElsewhere(UsageError):
    """A process of another data folder runs this tournament."""


def folder_name(data: Path) -> str:
    """The name of a data folder among those that share a database: this machine's, and what is drawn when the folder is
    first asked, and kept there."""
    return first_word(data / "name", f"{socket.gethostname()}-{secrets.token_hex(4)}")


def lock_path(data: Path, tournament: str) -> Path:
    """The lock that the process which runs a tournament holds."""
    return data / "locks" / tournament


def versions_lock(data: Path) -> contextlib.AbstractContextManager[None]:
    """The lock of whoever builds and tries out the versions of a data folder, which is one process at a time.

    Raises:
        UsageError: on entry, when another process does.
    """
    path = lock_path(data, ".versions")
    path.parent.mkdir(exist_ok=True)
    return lock_file(path, f"what builds and tries out the versions in {data}")


@contextlib.contextmanager
def service_lock(data: Path) -> Iterator[None]:
    """The locks of a service, which builds and tries out all versions of a data folder for as long as it runs; raises
    as `versions_lock` does."""
    with versions_lock(data), lock_file(lock_path(data, _SERVICE), f"the service of {data}"):
        yield


def is_served(data: Path) -> bool:
    """Whether a service of this data folder runs."""
    return is_locked(lock_path(data, _SERVICE))


def is_run(store: Store, data: Path, tournament: str) -> bool:
    """Whether some process runs a tournament now: here, as its lock tells, or elsewhere, as its lead tells."""
    leader = store.leader(matter_of(tournament))
    elsewhere = leader is not None and leader.holder != folder_name(data) and leader.expires_at > datetime.now(UTC)
    return elsewhere or is_locked(lock_path(data, tournament))


async def run_tournament(
    store: Store,
    tournament: str,
    options: LocalOptions,
    view: ProgressView,
    begin: Callable[[], None] = lambda: None,
    enough: Callable[[], bool] = lambda: False,
) -> TournamentState:
    """Run or resume a tournament to its end, or until what is recorded is ``enough``, or until it is paused or
    cancelled; returns the state that it then has.

    When it ends in any other way, everything that was started is ended and the tournament is paused; what was recorded
    stays. ``begin`` is called as soon as everything that can be missing is there: it writes the plan of a new
    tournament, so that a failed start leaves none behind.

    Raises:
        UsageError: another process runs this tournament; `RunElsewhere` when that is on another machine.
        InfrastructureError: Redis, an address or the workers can't be had.
    """
    lock = lock_path(options.data, tournament)
    lock.parent.mkdir(exist_ok=True)
    with (
        lock_file(lock, f"tournament {tournament}"),
        # Under one name in a data folder: who holds its lock knows that the former holder is gone.
        Lead(store, matter_of(tournament), folder_name(options.data)) as lead,
        RunDirectory() as run,
    ):
        if not lead.take():
            raise RunElsewhere(f"tournament {tournament} is run by {lead.leader}; wait for its end, or end it there")
        _open_to_bots(run, options)
        desk = Desk(store)
        async with contextlib.AsyncExitStack() as stack:
            watch_redis: Callable[[], Awaitable[object]]
            if options.redis_url is None:
                redis = await stack.enter_async_context(EmbeddedRedis(run))
                redis_url, watch_redis = redis.url, redis.watch
            else:
                await check_redis(options.redis_url)
                redis_url, watch_redis = options.redis_url, asyncio.Event().wait
            tokens = WorkerTokens(store.accounts)
            listen = f"unix:{run / 'arbiter.sock'}"
            server = await stack.enter_async_context(WorkerServer(desk, bots_of(store, options.data), tokens, listen))
            begin()
            _set_running(lead.store, tournament)
            _free(lead.store, tournament)
            place = Workplace(
                redis_url,
                server.address,
                tokens.own,
                run,
                cache=options.data / "cache",
                spool=run / "spool",
                drain_seconds=0.0,
                queue=f"{SERVICE}.{tournament}",
                hidden=(options.data,),
                unsafe_processes=options.unsafe_processes,
                cpus=max(CPU_CLASSES),  # whatever a tournament asks for, there is this machine alone
            )
            sender = CelerySender(redis_url, place.queue)
            stack.callback(sender.close)
            coordinator = Coordinator(store, sender, lambda _: lead, view.trouble, lambda _: enough())
            desk.changed = coordinator.wake
            commands = worker_commands(options.workers, place, logs=True)
            keeper = Keeper(commands, patience=Patience(grace=STOP_GRACE))
            try:
                return await _first_end(
                    coordinator.run_one(tournament),
                    keeper.run(),
                    watch_redis(),
                    view.follow(store, tournament, lambda: desk.live),
                )
            finally:
                try:
                    _pause(lead.store, tournament)
                except (LeadershipLost, StoreUnavailable) as error:
                    log.warning("tournament %s stays as it is: %s", tournament, error)


def _set_running(store: Store, tournament: str) -> None:
    refuse_finished(store, tournament)
    if store.tournament(tournament).state is TournamentState.RUNNING:
        store.retry_failed(tournament)
    else:
        store.set_state(tournament, TournamentState.RUNNING, now=datetime.now(UTC))


def _free(store: Store, tournament: str) -> None:
    """Take back what an owner that is gone had leased, for its workers died with it."""
    store.expire_leases(tournament, datetime.max.replace(tzinfo=UTC))


def refuse_finished(store: Store, tournament: str) -> None:
    """Raise :class:`UsageError` when there is nothing to go on with."""
    state = store.tournament(tournament).state
    if state in (TournamentState.COMPLETED, TournamentState.CANCELLED):
        raise UsageError(f"tournament {tournament} is {state}; see it with: arbiter tournament standings {tournament}")


def _pause(store: Store, tournament: str) -> None:
    if store.tournament(tournament).state is TournamentState.RUNNING:
        store.set_state(tournament, TournamentState.PAUSED, now=datetime.now(UTC))


async def _first_end(work: Awaitable[TournamentState], *company: Awaitable[object]) -> TournamentState:
    """The result of ``work``; what keeps it company is ended with it, and its failure ends the work."""
    main = asyncio.ensure_future(work)
    others = [asyncio.ensure_future(other) for other in company]
    try:
        await asyncio.wait([main, *others], return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            if other.done() and not main.done():
                other.result()
                raise InfrastructureError("a part of the service ended before the tournament did")
        return main.result()
    finally:
        for task in (main, *others):
            task.cancel()
        await asyncio.gather(main, *others, return_exceptions=True)


@contextlib.contextmanager
def cancelled_by_sigterm() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C while inside: the running task is cancelled."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)

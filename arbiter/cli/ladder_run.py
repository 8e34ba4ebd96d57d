"""The ladder of this machine: bots become versions and enter, matches are played, and everything is shown."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, cast

import typer

from arbiter.api.ladder.v1 import ladder_pb2 as pb
from arbiter.api.registry.v1 import registry_pb2
from arbiter.cli.console import errors
from arbiter.cli.demo import sample_bots_folder
from arbiter.cli.event import EventOptions, open_store, program
from arbiter.cli.local import LocalOptions, bots_of, cancelled_by_sigterm, run_tournament
from arbiter.cli.local_bots import LocalBots
from arbiter.cli.progress import ProgressView
from arbiter.engine import EngineError, rule_set
from arbiter.errors import UsageError
from arbiter.packages import pack
from arbiter.service.ladder_messages import (
    entry_message,
    history_message,
    leaderboard_message,
    upcoming_message,
)
from arbiter.store import FINISHED, Scope, Store, Token, Tournament
from arbiter.tournament import TournamentSpec, new_id, parse_spec, plan_tournament
from arbiter.tournament.ladder import LadderPlan, find_ladder, is_ladder
from arbiter.tournament.ladder_hosting import LadderHosting
from arbiter.tournament.leaderboard import history, leaderboard, upcoming
from arbiter.tournament.naming import HOST_OWNER

NAME: Final = "ladder"
RULES: Final = "black_lady"
BOARDS: Final = 16
EXIT_FAILED: Final = 1


def enter_here(data: Path, bot: str, ladder: str, unsafe: bool) -> pb.EnterLadderResponse:
    """Enter a folder, a sample bot or a version into a ladder of this machine, one made now when there is none."""
    options = LocalOptions(data, None, 0, unsafe)
    with open_store(data) as store:
        found = find_ladder(store, ladder) if ladder else _newest(store) or make_ladder(store)
        folder = _folder(bot)
        if folder is not None:
            bot = _submitted(options, folder, TournamentSpec.from_dict(found.spec))
        _, entrant = LadderHosting(store, bots_of(store, options.data)).enter(_host(), bot, found.id)
        board = leaderboard(store, found.id)
        place = next(place for place in board.places if place.entrant.index == entrant.index)
        return pb.EnterLadderResponse(ladder=found.id, entry=entry_message(place))


def leave_here(data: Path, bot: str, ladder: str) -> str:
    """Take a version off a ladder of this machine; returns the ladder's id."""
    with open_store(data) as store:
        options = LocalOptions(data, None, 0, False)
        return LadderHosting(store, bots_of(store, options.data)).leave(_host(), bot, ladder)[0].id


def leaderboard_here(data: Path, ladder: str) -> pb.GetLeaderboardResponse:
    """The leaderboard of a ladder of this machine."""
    with open_store(data) as store:
        return leaderboard_message(leaderboard(store, ladder))


def history_here(data: Path, bot: str, ladder: str) -> pb.GetHistoryResponse:
    """The history of a version's rating."""
    with open_store(data) as store:
        return history_message(*history(store, bot, ladder))


def upcoming_here(data: Path, bot: str, ladder: str) -> pb.ListUpcomingResponse:
    """What is played next."""
    with open_store(data) as store:
        return upcoming_message(*upcoming(store, bot, ladder))


def run_here(
    options: EventOptions, ladder: str, rules: str, boards: int, matches: int | None
) -> pb.GetLeaderboardResponse:
    """Play a ladder until Ctrl-C or SIGTERM, or until so many more matches are complete; returns its leaderboard.

    Raises:
        UsageError: there is nobody to play.
    """
    with open_store(options.data) as store, asyncio.Runner() as runner:
        found = find_ladder(store, ladder) if ladder else _newest(store, rules) or make_ladder(store, rules, boards)
        plan = LadderPlan.read(store, found.id)
        if not plan.playable:
            raise UsageError(
                f"ladder {found.id} has {len(plan.active)} bots, and a table seats {plan.seats}; enter some with: "
                f"{program()} ladder enter BOT"
            )
        before = store.progress(found.id).matches_complete

        def enough() -> bool:
            return matches is not None and store.progress(found.id).matches_complete - before >= matches

        local = options.local(plan.spec)
        errors.print(f"playing {found.id}; Ctrl-C stops it, and the same command goes on", markup=False)
        try:
            runner.run(_played(store, found.id, local, enough))
        except (KeyboardInterrupt, asyncio.CancelledError):
            errors.print("\nStopped. Nothing that was recorded is lost.", markup=False, highlight=False)
        return leaderboard_message(leaderboard(store, found.id))


def make_ladder(store: Store, rules: str = RULES, boards: int = BOARDS) -> Tournament:
    """A new ladder of this machine, running as soon as somebody plays it; raises `SpecError`."""
    spec = parse_spec({"name": NAME, "format": "ladder", "rules": {"name": rules}, "match": {"boards": boards}}, Path())
    taken = {tournament.id for tournament in store.tournaments()}
    tournament, matches = plan_tournament(new_id(NAME, taken), spec, [], datetime.now(UTC))
    store.create_tournament(tournament, [], matches, spec.seatings.sittings(spec.rules))
    return tournament


async def _played(store: Store, ladder: str, local: LocalOptions, enough: Callable[[], bool]) -> None:
    with cancelled_by_sigterm():
        await run_tournament(store, ladder, local, ProgressView(errors), enough=enough)


def _newest(store: Store, rules: str | None = None) -> Tournament | None:
    """The newest ladder that is not over, of a rule set if one is named."""
    for tournament in store.tournaments():
        if not is_ladder(tournament) or tournament.state in FINISHED:
            continue
        if rules is None or TournamentSpec.from_dict(tournament.spec).rules_name == rules:
            return tournament
    return None


def _folder(bot: str) -> Path | None:
    """The folder that a bot names, its own or a sample bot's; None for a version."""
    if Path(bot).is_dir():
        return Path(bot)
    sample = sample_bots_folder() / bot
    return sample if "/" not in bot and (sample / "bot.toml").is_file() else None


def _submitted(options: LocalOptions, folder: Path, spec: TournamentSpec) -> str:
    """The name of the folder's version on this machine, built and tried out in the ladder's rule set."""
    try:
        rule_set(spec.rules_name)
        rules = spec.rules_name
    except EngineError:  # a set with options of its own has no name
        rules = RULES
    with tempfile.TemporaryFile() as file, LocalBots(options, [rules]) as bots, errors.status("") as status:
        package = cast("BinaryIO", file)
        packed = pack(folder, package)
        # That of arbiter bot submit without a message: what was submitted by that is the same version.
        request_id = hashlib.sha256(f"{packed.version_digest}\n\n".encode()).hexdigest()[:40]
        version = bots.submit(package, request_id=request_id, on_progress=lambda sent, size: None)
        status.update(f"{version.bot}@{version.number} is tried out")
        for seen in bots.watch(version.bot, version.number):
            version = seen
        name = f"{version.bot}@{version.number}"
        if version.state == registry_pb2.VERSION_STATE_FAILED:
            errors.print(f"{name} is failed: {version.failure}", markup=False, highlight=False, soft_wrap=True)
            errors.print(f"its log: {program()} bot logs {name}", markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(EXIT_FAILED)
    return name


def _host() -> Token:
    """Whoever has the machine may do everything."""
    now = datetime.now(UTC)
    return Token("cli", HOST_OWNER, Scope.HOST, "", now, now)

"""Tries a bot out: short sittings against stand-ins, as a tournament would play them, before it meets anybody."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter.api.bot.v1 import bot_pb2
from arbiter.cage import Cage, Launch, LoadMeter, Manifest, PlainCage
from arbiter.cage.manifest import DEFAULT_OPEN_TABLES
from arbiter.engine import RuleSet
from arbiter.links import BotHost, LocalLink, ProcessLink
from arbiter.match.clock import Clock
from arbiter.match.faults import Fault
from arbiter.match.plan import MatchFormat, SeatedBot, SittingPlan
from arbiter.match.sitting import SittingRecord, play_sitting
from arbiter.match.stand_in import StandInBot

VALIDATION_BOARDS: Final = 16


@dataclass(frozen=True, slots=True)
class Trial:
    """What one sitting showed of a bot."""

    rules: str
    """Name of the rule set."""
    record: SittingRecord
    """The bot has place 0."""
    greeted_tables: int | None
    """How many tables it said in its greeting that it plays at once; None when it did not greet."""
    manifest: Manifest

    @property
    def faults(self) -> list[Fault]:
        """Its faults: those of the sitting, then those at a board."""
        return [*self.record.faults, *(fault for hand in self.record.hands for fault in hand.faults)]

    @property
    def broken_claims(self) -> list[str]:
        """Where the bot does not do what its ``bot.toml`` says; one line each. The default claims nothing."""
        claimed = self.manifest.max_open_tables
        if claimed == DEFAULT_OPEN_TABLES or self.greeted_tables in (None, claimed):
            return []
        return [
            f"bot.toml says max_open_tables = {claimed}, but the bot's greeting says {self.greeted_tables}; "
            "let both say the same"
        ]

    @property
    def ok(self) -> bool:
        """No fault, and every claim kept."""
        return not self.faults and not self.broken_claims

    @property
    def log(self) -> str:
        """What the bot printed."""
        return self.record.endings[0].log.decode(errors="replace")

    @property
    def ending(self) -> str:
        """How its process ended."""
        return self.record.endings[0].ending


@dataclass(frozen=True, slots=True)
class Validation:
    """What the sittings of a validation showed, one for each rule set that was played."""

    trials: tuple[Trial, ...]

    @property
    def ok(self) -> bool:
        """The bot may be scheduled."""
        return all(trial.ok for trial in self.trials)

    @property
    def reasons(self) -> list[str]:
        """Why it may not, one line each, with the rule set."""
        return [
            f"{trial.rules}: {reason}"
            for trial in self.trials
            for reason in [*(fault_line(fault) for fault in trial.faults), *trial.broken_claims]
        ]


def fault_line(fault: Fault) -> str:
    """A fault in one line: ``ILLEGAL_PLAY at board 3, trick 2: ...``."""
    where = f"board {fault.board}" if fault.board else "sitting"
    where += f", trick {fault.trick}" if fault.board and fault.trick else ""
    return f"{fault.code} at {where}: {fault.detail}"


async def try_out(
    folder: Path,
    manifest: Manifest,
    rules: tuple[str, RuleSet],
    cage: Cage,
    boards: int = VALIDATION_BOARDS,
    clock: Clock | None = None,
) -> Trial:
    """Play one sitting of a bot, in place 0, against stand-ins in this process.

    Args:
        folder: the bot's version, read-only.
        manifest: what its ``bot.toml`` says.
        rules: what is played, with its name.
        cage: where the bot is put.
        boards: how many are played; all of them at once, as far as the bot takes them.
        clock: what it is allowed; None: the default.

    Raises:
        CageError: the cage can't be built on this machine.
        Starved: the machine was too busy with other things for the bot to be judged.
    """
    await cage.check()
    name, rule_set = rules
    with tempfile.TemporaryDirectory(prefix="arbiter-", ignore_cleanup_errors=True) as run:
        sockets = Path(run)
        if isinstance(cage, PlainCage):  # then a bot of root's is another user, who has to pass to its socket
            sockets.chmod(0o711)
        host = BotHost(sockets)
        connection = host.add("seat0")
        launch = Launch(folder, manifest, connection.socket, {"ARBITER_TOKEN": connection.token}, sitting=sockets.name)
        names = [manifest.name, *(f"stand-in-{number}" for number in range(1, rule_set.players))]
        plan = SittingPlan(
            sitting="trial",
            rules=rule_set,
            format=MatchFormat.HANDS,
            boards=boards,
            deal_seed=secrets.token_bytes(32),
            seating=0,
            bots=tuple(
                SeatedBot(index, name, "", os.urandom(16), clock or Clock()) for index, name in enumerate(names)
            ),
        )
        link = _GreetingLink(cage, launch, connection)
        async with host:
            record = await play_sitting(
                plan, [link, *(LocalLink(StandInBot()) for _ in names[1:])], read_load=LoadMeter().read
            )
    return Trial(name, record, link.greeted_tables, manifest)


async def validate(
    folder: Path,
    manifest: Manifest,
    rule_sets: Mapping[str, RuleSet],
    cage: Cage,
    boards: int = VALIDATION_BOARDS,
    clock: Clock | None = None,
) -> Validation:
    """Try a bot out in each rule set of a competition, one after the other; stop at the first in which it fails.

    A bot that does not start or can't play one game need not hold up the machine in the others.

    Args:
        rule_sets: by name; the rest as for `try_out`.

    Raises: as `try_out` does.
    """
    trials: list[Trial] = []
    for rules in rule_sets.items():
        trials.append(await try_out(folder, manifest, rules, cage, boards, clock))
        if not trials[-1].ok:
            break
    return Validation(tuple(trials))


class _GreetingLink(ProcessLink):
    """Keeps what the bot said in its greeting."""

    greeted_tables: int | None = None

    async def open(self, patience: float) -> bot_pb2.Greeting:
        """See `arbiter.links.Link.open`."""
        greeting = await super().open(patience)
        self.greeted_tables = greeting.max_open_tables
        return greeting

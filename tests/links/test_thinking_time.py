"""What the arbiter charges to a bot's clock agrees with what the bot itself measures (StarcraftAITournamentManager#42).

The bound is in ``docs/fairness.md``: the charge is never below the bot's own measure, and above it by what a message
takes there and back. A real process measures with its own monotonic clock, from the call of its decision to the return,
and learns the charge from the time left that comes with the next message. The median over some fifty messages is
looked at, since a busy machine may hold up any of them.
"""

from __future__ import annotations

import asyncio
import re
import statistics

from arbiter.cage import Launch, choose_cage, load_manifest
from arbiter.links import BotHost, Link, LocalLink, ProcessLink
from arbiter.match import Clock, SittingRecord, play_sitting
from tests.cage.support import make_bot, open_folder
from tests.match.support import Uniform, plan_of

BOUND = 0.05
"""Seconds by which a message's charge may exceed the bot's measure, in the median."""
INCREMENT = 0.25
THINKING = 0.02

BOT = f"""
    import time

    from arbiter.sdk import BatchBot, run


    class Watch(BatchBot):
        last = None

        def timed(self, views, answer):
            began = time.monotonic()
            if self.last is not None:
                left, own, answers = self.last
                print(f"own {{own:.9f}} charged {{left + {INCREMENT} * answers - views[0].time_left:.9f}}")
            time.sleep({THINKING})
            found = [answer(view) for view in views]
            self.last = views[0].time_left, time.monotonic() - began, len(found)
            return found

        def choose_passes(self, views):
            return self.timed(views, lambda view: view.hand[:view.pass_count])

        def choose_cards(self, views):
            return self.timed(views, lambda view: view.legal[0])


    run(Watch())
"""


def test_the_clock_charges_what_the_bot_itself_measures() -> None:
    with open_folder() as folder:
        bot, sockets = make_bot(folder / "bot", BOT, name="watch"), folder / "sockets"
        sockets.mkdir(mode=0o755)

        async def sit() -> SittingRecord:
            host = BotHost(sockets)
            connection = host.add("watch")
            launch = Launch(bot, load_manifest(bot), connection.socket, {"ARBITER_TOKEN": connection.token})
            links: list[Link] = [ProcessLink(choose_cage(False), launch, connection)]
            links += [LocalLink(Uniform()) for _ in range(3)]
            clock = Clock(start_up=60.0, bank=60.0, increment=INCREMENT, hard_stop=60.0)
            async with host:
                # One table: each message asks for one decision, so each charge belongs to one measure.
                return await play_sitting(plan_of(boards=4, open_tables=1, clock=clock), links)

        record = asyncio.run(sit())
    assert not record.faults
    found = re.findall(r"own (\S+) charged (\S+)", record.endings[0].log.decode())
    measured = [(float(own), float(charged)) for own, charged in found]
    assert len(measured) == 4 * 13 + 3 - 1
    assert min(own for own, _ in measured) >= THINKING
    above = [charged - own for own, charged in measured]
    assert min(above) > -1e-6, "less is charged than the bot took"
    assert statistics.median(above) < BOUND

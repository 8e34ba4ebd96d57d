"""Runs a bot as a process: dials the arbiter, plays one sitting over one stream, and ends."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from typing import Final, NoReturn, TypeAlias

import grpc

from arbiter.api.bot.v1 import bot_pb2, bot_pb2_grpc
from arbiter.sdk.bot import BaseBot
from arbiter.sdk.session import Session

ADDRESS: Final = "ARBITER_ADDRESS"
TOKEN: Final = "ARBITER_TOKEN"

MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
"""Largest batch that the bot takes from the arbiter."""

COLLECT_AFTER: Final = 10_000
"""How many more objects are alive, of those that can be in a cycle, when Python looks for cycles: some times what the
views of a batch are."""

EXIT_USAGE: Final = 2
EXIT_NO_ARBITER: Final = 4

_Call: TypeAlias = "grpc.aio.StreamStreamCall[bot_pb2.SitRequest, bot_pb2.SitResponse]"


def run(bot: BaseBot) -> NoReturn:
    """Play the sitting that this process was started for, then end the process.

    The arbiter says where to dial in the environment: ``ARBITER_ADDRESS`` and ``ARBITER_TOKEN``. The exit status is 0
    after a whole sitting, 1 when the bot raised an exception, 2 without an arbiter to dial, 4 when it went away.
    """
    if not isinstance(bot, BaseBot):
        raise TypeError(f"run() takes a bot, such as run(MyBot()), but got {bot!r}")
    address, token = os.environ.get(ADDRESS), os.environ.get(TOKEN)
    if not address or not token:
        missing = ADDRESS if not address else TOKEN
        print(
            f"{missing} is not set: a bot is started by the arbiter; try it with `arbiter bot check DIR`",
            file=sys.stderr,
        )
        _end(EXIT_USAGE)
    try:
        asyncio.run(_play(bot, address, token))
    except grpc.aio.AioRpcError as error:
        print(f"the arbiter at {address} ended the stream: {error.code().name}: {error.details()}", file=sys.stderr)
        _end(EXIT_NO_ARBITER)
    _end(0)


async def _play(bot: BaseBot, address: str, token: str) -> None:
    session = Session(bot)
    # What is loaded stays, and a batch's views live until it is answered: the collector need not look through them
    # again and again. Either took a tenth of a bot's time.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    options = [("grpc.max_receive_message_length", MAX_BATCH_BYTES)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        stub = bot_pb2_grpc.BotServiceStub(channel)
        call = stub.Sit(metadata=(("authorization", f"Bearer {token}"),), wait_for_ready=True)
        await _write(call, session.greeting())
        while not session.ended:
            batch = await call.read()
            if not isinstance(batch, bot_pb2.SitResponse):
                raise await _status(call)
            for answers in session.handle(batch):
                await _write(call, answers)
            for note in session.fault_notes:
                print(f"fault: {note}", file=sys.stderr)
        await call.done_writing()


async def _write(call: _Call, message: bot_pb2.SitRequest) -> None:
    try:
        await call.write(message)
    except asyncio.InvalidStateError:  # the arbiter ended the stream while the bot was thinking
        raise await _status(call) from None


async def _status(call: _Call) -> grpc.aio.AioRpcError:
    """How the arbiter ended the stream."""
    nothing = grpc.aio.Metadata()
    return grpc.aio.AioRpcError(await call.code(), nothing, nothing, details=await call.details())


def _end(status: int) -> NoReturn:
    """End at once: what the interpreter tears down on the way out costs tens of milliseconds and does nothing here."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

"""Runs a bot as a process: dials the arbiter, plays one sitting over one stream, and ends."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Final, NoReturn

import grpc

from arbiter.api.bot.v1 import bot_pb2, bot_pb2_grpc
from arbiter.sdk.bot import Bot
from arbiter.sdk.session import Session

ADDRESS: Final = "ARBITER_ADDRESS"
TOKEN: Final = "ARBITER_TOKEN"

MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
"""Largest batch that the bot takes from the arbiter."""

EXIT_USAGE: Final = 2
EXIT_NO_ARBITER: Final = 4


def run(bot: Bot) -> NoReturn:
    """Play the sitting that this process was started for, then end the process.

    The arbiter says where to dial in the environment: ``ARBITER_ADDRESS`` and ``ARBITER_TOKEN``. The exit status is
    0 after a
    whole sitting, 1 when the bot raised an exception, 2 without an arbiter to dial, 4 when the arbiter went away.
    """
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


async def _play(bot: Bot, address: str, token: str) -> None:
    session = Session(bot)
    options = [("grpc.max_receive_message_length", MAX_BATCH_BYTES)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        stub = bot_pb2_grpc.BotServiceStub(channel)
        call = stub.Sit(metadata=(("authorization", f"Bearer {token}"),), wait_for_ready=True)
        await call.write(session.greeting())
        while not session.ended:
            batch = await call.read()
            if not isinstance(batch, bot_pb2.SitResponse):
                break
            for answers in session.handle(batch):
                await call.write(answers)
            for note in session.fault_notes:
                print(f"fault: {note}", file=sys.stderr)
        await call.done_writing()
        if not session.ended:
            code = await call.code()
            raise grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details=await call.details())


def _end(status: int) -> NoReturn:
    """End at once: what the interpreter tears down on the way out costs tens of milliseconds and does nothing here."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
